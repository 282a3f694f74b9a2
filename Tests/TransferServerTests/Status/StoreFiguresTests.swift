import Testing
import TransferCatalog
import TransferPorts
import TransferSystem

@testable import TransferServer

@Suite struct StoreFiguresTests {
    private static let second: Int64 = 1_000_000_000

    /// A clock that each look at the store advances.
    private final class Clock: Sendable {
        private let state = Locked((now: Int64(0), looks: 0))

        var now: Int64 { state.withLock { $0.now } }

        var looks: Int { state.withLock { $0.looks } }

        func advance(_ nanoseconds: Int64) { state.withLock { $0.now += nanoseconds } }

        /// Figures that contain the number of the look that made them.
        func look(taking nanoseconds: Int64) -> StoreFigures.Figures {
            state.withLock { state in
                state.now += nanoseconds
                state.looks += 1
                return StoreFigures.Figures(catalog: [.committed: CatalogTotals(uploads: state.looks)])
            }
        }
    }

    private static let costs: [(cost: Int64, pause: Int64)] = [(1_000_000, second), (second, 50 * second)]

    @Test(arguments: costs)
    func looksSeldom(_ cost: Int64, _ pause: Int64) {
        let clock = Clock()
        let figures = StoreFigures { clock.look(taking: cost) }
        func uploads() -> Int? { figures.present { clock.now }.catalog?[.committed]?.uploads }
        for _ in 0..<100 { #expect(uploads() == 1) }
        clock.advance(pause - 1)
        #expect(uploads() == 1)
        clock.advance(1)
        #expect(uploads() == 2)
        #expect(clock.looks == 2)
    }
}
