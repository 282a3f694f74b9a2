import Testing
import TransferTestSupport

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct QueueTests {
    @Test func firstInFirstOut() {
        var queue = Queue<Int>()
        for number in 0..<5 { queue.append(number) }
        #expect(queue.count == 5)
        let taken = (0..<6).map { _ in queue.popFirst() }
        #expect(taken == [0, 1, 2, 3, 4, nil])
        #expect(queue.count == 0)
    }

    @Test(arguments: 0..<5 as Range<UInt64>) func agreesWithAnArray(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var queue = Queue<Int>()
        var model: [Int] = []
        for number in 0..<1000 {
            if Bool.random(using: &random) {
                queue.append(number)
                model.append(number)
            } else {
                let taken = queue.popFirst()
                #expect(taken == (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect(queue.count == model.count)
        }
    }

    @Test func whatWasTakenIsLetGoOfThoughMuchWaitsBehindIt() async {
        var queue = Queue<Witness?>()
        let (witness, gone) = Witness.make()
        queue.append(consume witness)
        for _ in 0..<100 { queue.append(nil) }
        _ = queue.popFirst()
        await gone.finished()
        #expect(queue.count == 100)
    }
}
