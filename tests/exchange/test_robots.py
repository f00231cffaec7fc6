"""URDF and MJCF: the mechanism of the file, to the digits; what is not read is listed, what is wrong has its line."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main

# UR5, numbers of ur_description (ROS Industrial); name, offset, quarter turn about y, axis, mass, centre, moments
UR5 = [
    ("shoulder", "0 0 0.089159", 0, "0 0 1", 3.7, "0 0 0", (0.010267495893, 0.00666)),
    ("upper_arm", "0 0.13585 0", 1, "0 1 0", 8.393, "0 0 0.28", (0.22689067591, 0.0151074)),
    ("forearm", "0 -0.1197 0.425", 0, "0 1 0", 2.275, "0 0 0.25", (0.049443313556, 0.004095)),
    ("wrist_1", "0 0 0.39225", 1, "0 1 0", 1.219, "0 0 0", (0.111172755531, 0.21942)),
    ("wrist_2", "0 0.093 0", 0, "0 0 1", 1.219, "0 0 0", (0.111172755531, 0.21942)),
    ("wrist_3", "0 0 0.09465", 0, "0 1 0", 0.1879, "0 0 0", (0.0171364731454, 0.033822)),
]
ANGLES, RATES = (0.3, -1.1, 1.2, -0.7, 0.9, 0.4), (0.5, -0.4, 0.3, 0.8, -0.6, 1.0)
ACCELERATIONS = (1.680761280852, 8.561194870216, 13.870756600178, -22.024703321632, 1.491884354899, -1.559695534935)


def ur5_urdf():
    text, parent = ['<robot name="ur5">', '<link name="base-link"><visual><geometry/></visual></link>'], "base-link"
    for name, offset, turned, axis, mass, center, (across, along) in UR5:
        text.append(
            f'<link name="{name}"><inertial><mass value="{mass}"/><origin xyz="{center}" rpy="0 0 0"/>'
            f'<inertia ixx="{across}" iyy="{across}" izz="{along}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        text.append(
            f'<joint name="{name}_joint" type="revolute"><parent link="{parent}"/><child link="{name}"/>'
            f'<origin xyz="{offset}" rpy="0 {1.57079632679 * turned} 0"/><axis xyz="{axis}"/>'
            '<limit lower="-6.28" upper="6.28" effort="150" velocity="3.15"/></joint>'
        )
        parent = name
    tool = '<link name="tool0"/><joint name="tool" type="fixed"><parent link="wrist_3"/><child link="tool0"/>'
    return "\n".join([*text, tool + '<origin xyz="0 0.0823 0" rpy="0 0 1.570796325"/></joint>', "</robot>"])


def ur5_mjcf():
    text = '<mujoco model="ur5">\n<compiler angle="radian"/>\n<default><joint axis="0 1 0"/></default>\n<worldbody>'
    for name, offset, turned, axis, mass, center, (across, along) in UR5:
        own = "" if axis == "0 1 0" else f' axis="{axis}"'
        text += (
            f'\n<body name="{name}" pos="{offset}" {"quat=" + chr(34) + "1 0 1 0" + chr(34) if turned else ""}>'
            f'<inertial pos="{center}" mass="{mass}" diaginertia="{across} {across} {along}"/>'
            f'<joint name="{name}_joint"{own}/>'
        )
    return text + '<site name="flange" pos="0 0.0823 0"/>' + "</body>" * 6 + "\n</worldbody>\n</mujoco>"


def written(folder, text, name="robot.xml"):
    path = folder / name
    path.write_text(text)
    return path


def accelerations(system, angles, rates):
    names = [c.name for c in system.coordinates]
    start = dict(zip(names, angles, strict=True)) | {
        f"{name}_dot": rate for name, rate in zip(names, rates, strict=True)
    }
    found = hf.simulate(hf.derive(hf.Problem(system)), hf.RK4, step=1e-3, duration=1e-3, start=start)
    return np.array([found.at(f"{name}_ddot")[0] for name in names])


@pytest.mark.parametrize("text", [ur5_urdf(), ur5_mjcf()], ids=["urdf", "mjcf"])
def test_a_ur5_moves_as_it_should(text, tmp_path):
    robot = hf.import_robot(written(tmp_path, text))
    np.testing.assert_allclose(accelerations(robot.system, ANGLES, RATES), ACCELERATIONS, rtol=1e-11)
    assert hf.loads(hf.dumps(robot.problem)) == robot.problem
    assert "tool0" not in robot.system.bodies  # massless and welded on


def test_what_is_not_read_is_listed_and_names_are_made_to_fit(tmp_path):
    path = written(tmp_path, ur5_urdf().replace('name="forearm"', 'name="fore arm"').replace('"forearm"', '"fore arm"'))
    robot = hf.import_robot(path)
    assert "<limit> in <joint> (6 times)" in robot.unread
    assert "<visual> in <link>" in robot.unread
    assert ("fore arm", "fore_arm") in robot.renamed
    with pytest.warns(hf.NotRead, match="limit"):
        hf.read_urdf(path)


def test_mjcf_with_every_kind_of_statement(tmp_path):
    """Classes of defaults, several joints in a body, anchors, degrees, springs, dampers, armatures, a ball.

    The reference is MuJoCo 4.0, mj_forward.
    """
    text = """<mujoco model="creature">
<compiler angle="degree" eulerseq="zyx"/>
<option gravity="1 0 -9"/>
<default><joint damping="0.2"/>
 <default class="stiff"><joint stiffness="3" springref="20" armature="0.1"/></default></default>
<worldbody>
 <site name="anchor" pos="1 0 1"/>
 <body name="torso" pos="0 0 1" euler="10 20 30">
  <inertial pos="0.1 0 0" mass="2" fullinertia="0.2 0.3 0.25 0.01 -0.02 0.015"/>
  <joint name="slide_x" type="slide" axis="1 0 0"/>
  <joint name="lean" type="hinge" axis="0 1 0" pos="0 0 -0.2" class="stiff"/>
  <body name="arm" pos="0.2 0 0.3" axisangle="1 1 0 40" childclass="stiff">
   <inertial pos="0 0 0.2" quat="1 0.2 0 0.1" mass="0.7" diaginertia="0.05 0.06 0.02"/>
   <joint name="elbow" axis="1 0 0.5" pos="0 0.05 0"/>
   <body name="hand" pos="0 0 0.4" zaxis="0 1 1">
    <inertial pos="0 0 0.1" mass="0.3" diaginertia="0.01 0.01 0.02"/>
    <joint name="wrist" type="ball" damping="0" stiffness="0" armature="0"/>
    <site name="palm" pos="0 0 0.2"/>
   </body>
  </body>
 </body>
</worldbody></mujoco>"""
    system = hf.read_mjcf(written(tmp_path, text))
    assert list(system.bodies) == ["torso_1", "torso", "arm", "hand"]
    start = {"slide_x": 0.1, "lean": 0.2, "elbow": -0.3, "wrist": (0.5, 0.5, -0.1, 0.7)}
    rates = {"slide_x_dot": 0.3, "lean_dot": -0.5, "elbow_dot": 0.8, "wrist_spin": (0.2, -1.0, 0.6)}
    problem = hf.Problem(system, start=start | rates)
    run = hf.simulate(hf.derive(problem), hf.RK4, step=1e-3, duration=1e-3)
    names = ("slide_x", "lean", "elbow", "wrist_turn_x", "wrist_turn_y", "wrist_turn_z")
    found = [run.at(f"{name}_ddot")[0] for name in names]
    np.testing.assert_allclose(found, CREATURE, rtol=1e-9)


CREATURE = (2.296763741428, 5.840565247042, 14.96874050423, -2.957027314382, 6.845988853646, -12.35485025593)

LOOP = """<mujoco><worldbody>
<body name="a" pos="0 0 0"><inertial pos="0.5 0 0" mass="1" diaginertia="0.01 0.1 0.1"/><joint axis="0 1 0"/>
 <body name="b" pos="1 0 0"><inertial pos="0.5 0 0" mass="1" diaginertia="0.01 0.1 0.1"/><joint axis="0 1 0"/></body>
</body>
<body name="c" pos="2 0 1" euler="0 90 0"><inertial pos="0.5 0 0" mass="1" diaginertia="0.01 0.1 0.1"/>
<joint axis="0 1 0"/></body>
</worldbody><equality><connect body1="b" body2="c" anchor="1 0 0"/></equality></mujoco>"""


def test_equalities_close_loops_and_gear_joints(tmp_path):
    system = hf.read_mjcf(written(tmp_path, LOOP))
    (tie,) = (joint for joint in system.joints.values() if isinstance(joint, hf.Spherical))
    assert system.bodies["b"].points[tie.a] == (1, 0, 0)
    assert system.bodies["c"].points[tie.b] == (1, 0, 0)  # where the file draws them, the ends meet
    geared = LOOP.replace("<connect", '<joint joint1="a_joint" joint2="c_joint" polycoef="0 2 0 0 0"/><connect')
    assert any(isinstance(joint, hf.Gear) for joint in hf.read_mjcf(written(tmp_path, geared)).joints.values())


LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><robot name="&b;"/>'
BAD = [
    (LAUGHS, "a document type is not read", 1),
    ('<!DOCTYPE r SYSTEM "file:///etc/hostname"><robot/>', "a document type is not read", 1),
    ("<a>" * 1_000_000, "within each other", 1),
    ("<robot>" + "<link/>" * 30_000, "in all", 1),
    ("<robot><link>", "not XML", 1),
    ("", "not XML", 1),
    ("<html/>", "neither a URDF", 1),
    ('<robot name="r"></robot>', "no link", 1),
    ('<robot>\n<link name="a"/>\n<link name="a"/></robot>', "two links 'a'", 3),
    ('<robot>\n<link name="a"/>\n<link name="b"/></robot>', "joined by nothing", 3),
    ('<robot><link name="a"/>\n<link/></robot>', "has no name", 2),
    (ur5_urdf().replace('value="3.7"', 'value="inf"'), "should be a number", 3),
    (ur5_urdf().replace('value="3.7"', 'value="1e9999"'), "should be a number", 3),
    (ur5_urdf().replace('value="3.7"', 'value="-1"'), "negative mass", 3),
    (ur5_urdf().replace('xyz="0 0 0.28"', 'xyz="0 0"'), "should be 3 numbers", 5),
    (ur5_urdf().replace('type="revolute"', 'type="magnetic"', 1), "'magnetic' is no kind of joint", 4),
    (ur5_urdf().replace('link="wrist_2"', 'link="wrist"', 1), "there is no link 'wrist'", 12),
    (ur5_urdf().replace('type="fixed"', 'type="continuous"'), "'tool0' has no mass, moves", 15),
    (ur5_mjcf().replace("</worldbody>", "</worldbody><default/>").replace("<worldbody>", "<body>"), "not XML", 11),
    (ur5_mjcf().replace('mass="3.7"', 'mass="x"'), "should be a number", 5),
    (LOOP.replace("<joint axis", '<joint ref="1" axis', 1), "has a ref", 2),
    (LOOP.replace("<inertial", "<geom/><inertia", 1), "what geoms weigh", 2),
    (LOOP.replace('body2="c"', 'body2="d"'), "no body 'd'", 7),
    (LOOP.replace('<body name="a"', '<body childclass="none" name="a"'), "no default class 'none'", 2),
]


@pytest.mark.parametrize(("text", "what", "line"), BAD, ids=[what for _, what, _ in BAD])
def test_bad_files_are_refused_soon_with_their_line(text, what, line, tmp_path):
    path = written(tmp_path, text)
    began = time.process_time()
    with pytest.raises(hf.BadFile) as caught:
        hf.import_robot(path)
    assert time.process_time() - began < 1
    assert what in str(caught.value)
    assert caught.value.findings[0].line == line


def test_a_hundred_megabytes_are_not_read(tmp_path):
    path = tmp_path / "large.urdf"
    with open(path, "wb") as stream:
        stream.truncate(100_000_000)
    began = time.process_time()
    with pytest.raises(hf.BadFile, match="larger than"):
        hf.import_robot(path)
    assert time.process_time() - began < 1


def test_a_floating_root_is_a_free_body(tmp_path):
    inertial = '<inertial><mass value="2"/><inertia ixx="1" iyy="2" izz="3"/></inertial>'
    path = written(tmp_path, f'<robot><link name="probe">{inertial}</link></robot>')
    assert len(hf.read_urdf(path, floating=True).coordinates) == 6
    with pytest.raises(hf.BadFile, match="nothing in it has a mass"):
        hf.read_urdf(path)
    with pytest.raises(hf.BadFile, match="not a file of MJCF"):
        hf.read_mjcf(path)


def test_the_command_writes_a_problem_file_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, ur5_urdf(), "ur5.urdf")
    result = CliRunner().invoke(main, ["import", "ur5.urdf"])
    assert result.exit_code == 0, result.output
    assert "6 bodies, 6 coordinates" in result.output
    assert "not read: <limit> in <joint> (6 times)" in result.output
    assert hf.load("ur5.toml").title == "ur5"
    again = CliRunner().invoke(main, ["import", "ur5.urdf"])
    assert again.exit_code == 2
    told = CliRunner().invoke(main, ["import", "ur5.urdf", "--force", "--json"])
    assert json.loads(told.stdout)["bodies"] == 6


def test_what_closes_a_loop_carries_nothing(tmp_path):
    """A body without mass between two hinges carries the next one, also where an equality names that one second."""
    middle = LOOP.replace('<joint axis="0 1 0"/></body>', '<joint axis="0 1 0"/><joint axis="1 0 0"/></body>', 1)
    assert middle != LOOP
    system = hf.read_mjcf(written(tmp_path, middle.replace('body1="b" body2="c"', 'body1="c" body2="b"')))
    assert system.bodies["b_1"].mass == 0
