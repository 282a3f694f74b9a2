import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct PathHeapTests {
    @Test(arguments: 0..<20 as Range<UInt64>) func givesTheLowestFirst(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var heap = PathHeap()
        var model: [Int64] = []
        for mark in 0..<400 as Range<UInt64> {
            if generator.next() % 3 == 0 {
                let lowest = model.min()
                #expect(heap.first?.rank == lowest)
                #expect(heap.popFirst()?.rank == lowest)
                if let lowest, let index = model.firstIndex(of: lowest) { model.remove(at: index) }
            } else {
                let rank = Int64(bitPattern: generator.next() % 50)
                model.append(rank)
                heap.insert(.init(rank: rank, path: PathKey("\(mark)"), mark: mark))
            }
        }
        for rank in model.sorted() { #expect(heap.popFirst()?.rank == rank) }
        #expect(heap.first == nil)
        #expect(heap.popFirst() == nil)
    }
}
