import Glibc
import Testing
import TransferSimulation

@Suite struct SimulationTests {
    /// Some seconds of what `make simulate` does without end.
    @Test(arguments: 0..<8) func nothingIsBroken(_ group: UInt64) throws {
        for seed in group * 1000..<group * 1000 + 12 { _ = try Simulation().run(seed: seed) }
    }

    /// A simulator that finds nothing in a server which breaks its promise would be worth nothing.
    @Test func findsAcknowledgementsBeforeTheDirectoryIsSynced() {
        let found = (0..<50 as Range<UInt64>).contains { seed in
            do throws(Simulation.Failure) {
                _ = try Simulation(forgetsDirectories: true, shrinks: false).run(seed: seed)
                return false
            } catch {
                return true
            }
        }
        #expect(found)
    }
}
