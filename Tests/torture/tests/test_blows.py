from __future__ import annotations

import random
import unittest

from torture.blows import RECIPIENT, SENDER, SERVER, DeliveryPlan


class DeliveryPlanTests(unittest.TestCase):
    def test_the_seed_decides(self) -> None:
        self.assertEqual(DeliveryPlan.make(random.Random("7/5")), DeliveryPlan.make(random.Random("7/5")))

    def test_everything_comes(self) -> None:
        plans = [DeliveryPlan.make(random.Random(number)) for number in range(300)]
        self.assertEqual({plan.recipients for plan in plans}, {("bob",), ("carol",), ("bob", "carol")})
        sending = [blow for plan in plans for blow in plan.sending]
        receiving = [blow for plan in plans for blows in plan.receiving.values() for blow in blows]
        self.assertEqual({name for blow in sending for name in blow.victims}, {SENDER, SERVER, RECIPIENT})
        self.assertEqual({name for blow in receiving for name in blow.victims}, {SERVER, RECIPIENT})
        self.assertEqual({blow.changes for blow in sending}, {False, True})
        self.assertEqual({blow.counts_lines for blow in receiving}, {False, True})
        self.assertEqual({plan.watches for plan in plans}, {False, True})
        self.assertTrue(any(plan.declining for plan in plans))

    def test_only_who_watches_is_killed_while_something_is_sent(self) -> None:
        for number in range(300):
            plan = DeliveryPlan.make(random.Random(number))
            self.assertTrue(plan.watches or not any(RECIPIENT in blow.victims for blow in plan.sending))


if __name__ == "__main__":
    unittest.main()
