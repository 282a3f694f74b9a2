import Testing
import TransferTestSupport

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct TimerHeapTests {
    @Test func anEmptyHeapHasNothingDue() {
        var heap = TimerHeap()
        #expect(heap.nextDeadline() == nil)
        let action = heap.popDue(now: .max)
        #expect(action == nil)
    }

    @Test func nothingIsDueBeforeItsTime() {
        var heap = TimerHeap()
        _ = heap.add(deadline: 10) {}
        let early = heap.popDue(now: 9)
        #expect(early == nil)
        #expect(heap.nextDeadline() == 10)
        let due = heap.popDue(now: 10)
        #expect(due != nil)
        #expect(heap.nextDeadline() == nil)
    }

    @Test(arguments: [Int64.min, -1, 0, .max]) func anyDeadlineWillDo(deadline: Int64) {
        var heap = TimerHeap()
        _ = heap.add(deadline: deadline) {}
        #expect(heap.nextDeadline() == deadline)
        let action = heap.popDue(now: deadline)
        #expect(action != nil)
    }

    @Test func cancellingTwiceOrTooLateHarmsNobody() {
        var heap = TimerHeap()
        let first = heap.add(deadline: 1) {}
        let second = heap.add(deadline: 2) {}
        let action = heap.popDue(now: 1)
        #expect(action != nil)
        heap.cancel(first)
        heap.cancel(first)
        #expect(heap.nextDeadline() == 2)
        heap.cancel(second)
        heap.cancel(second)
        #expect(heap.nextDeadline() == nil)
    }

    @Test func aCancelledActionIsLetGoAtOnce() async {
        var heap = TimerHeap()
        let (id, gone) = {
            let (witness, gone) = Witness.make()
            return (heap.add(deadline: 1) { withExtendedLifetime(witness) {} }, gone)
        }()
        heap.cancel(id)
        await gone.finished()
    }

    /// Compares random additions, cancellations and removals with an array that is searched from end to end. Deadlines
    /// are close together, so many are equal; of equal ones any may be first.
    @Test(arguments: 0..<20 as Range<UInt64>) func agreesWithASortedArray(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var heap = TimerHeap()
        var model: [UInt64: Int64] = [:]
        var fired: UInt64 = 0
        for label in 1...600 as ClosedRange<UInt64> {
            let deadline = Int64.random(in: 0..<200, using: &random)
            let id = heap.add(deadline: deadline) { fired = label }
            #expect(id == label)
            model[id] = deadline
            // In some runs most timers are cancelled, so that there are more tombstones than timers.
            for _ in 0..<seed % 5 {
                let some = UInt64.random(in: 1...label, using: &random)
                heap.cancel(some)
                model[some] = nil
            }
            guard Int.random(in: 0..<8, using: &random) == 0 else { continue }
            let now = Int64.random(in: 0..<200, using: &random)
            let action = heap.popDue(now: now)
            let first = model.values.min()
            #expect((action != nil) == (first.map { $0 <= now } ?? false))
            guard let action else { continue }
            action()
            #expect(model[fired] == first)
            model[fired] = nil
        }
        drain(&heap, model, fired: { fired })
    }

    private func drain(_ heap: inout TimerHeap, _ model: [UInt64: Int64], fired: () -> UInt64) {
        var left = model
        while let action = heap.popDue(now: .max) {
            action()
            #expect(left[fired()] == left.values.min())
            left[fired()] = nil
        }
        #expect(left.isEmpty)
        #expect(heap.nextDeadline() == nil)
    }
}
