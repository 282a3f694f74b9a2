import Testing
import TransferSystem

@Suite(.timeLimit(.minutes(10))) struct LockedTests {
    @Test func oneThreadAtATime() async {
        final class Counter: Sendable {
            let value = Locked(0)
        }
        let counter = Counter()
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<5000 { counter.value.withLock { $0 += 1 } }
                }
            }
        }
        #expect(counter.value.withLock { $0 } == 40_000)
    }

    @Test func isUnlockedByAnError() {
        struct Failure: Error {}
        let locked = Locked(1)
        #expect(throws: Failure.self) {
            try locked.withLock { (value) throws(Failure) in
                value = 2
                throw Failure()
            }
        }
        #expect(locked.withLock { $0 } == 2)
    }

    @Test func letsGoOfItsValue() async {
        let (witness, gone) = Witness.make()
        do {
            let locked = Locked<Witness?>(witness)
            _ = consume witness
            #expect(locked.withLock { $0 != nil })
        }
        await gone.finished()
    }
}
