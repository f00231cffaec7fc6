"""Mean squares under noise, re-checked: steps in fractions from the problem's text, and the inequalities in balls."""
