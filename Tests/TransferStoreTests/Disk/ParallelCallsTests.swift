import Synchronization
import Testing
import TransferSystem

@Suite struct ParallelCallsTests {
    @Test(arguments: [0, 1, 2, 3, 7, 1000], [0, 1, 2, 8]) func eachNumberOnce(count: Int, threads: Int) {
        let seen = Locked([Int]())
        inParallel(on: threads, count) { number in seen.withLock { $0.append(number) } }
        #expect(seen.withLock { $0.sorted() } == Array(0..<count))
    }

    /// Each call waits for all others: if they ran one after another, they would never end.
    @Test func allAtOnce() {
        let present = Atomic(0)
        inParallel(on: 5, 5) { _ in
            present.add(1, ordering: .relaxed)
            #expect(waits { present.load(ordering: .relaxed) == 5 })
        }
    }
}
