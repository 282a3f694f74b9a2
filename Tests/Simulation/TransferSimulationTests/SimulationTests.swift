import Glibc
import Testing
import TransferSimulation

@Suite struct SimulationTests {
    /// Plays for some seconds what `make simulate` plays without end.
    @Test(arguments: 0..<8, Simulation.StoreKind.allCases)
    func nothingIsBroken(_ group: UInt64, over store: Simulation.StoreKind) throws {
        for seed in group * 1000..<group * 1000 + 6 { _ = try Simulation(store: store).run(seed: seed) }
    }

    /// A simulator that found no broken promise with a planted mistake would prove nothing.
    @Test func findsAcknowledgementsBeforeTheDirectoryIsSynced() {
        let found = (0..<50 as Range<UInt64>).contains { seed in
            do throws(Simulation.FailedRun) {
                _ = try Simulation(forgetsDirectories: true, shrinks: false).run(seed: seed)
                return false
            } catch {
                return true
            }
        }
        #expect(found)
    }

    /// The simulator must also find moves without a note: a server that is killed during a move leaves files that the
    /// catalog does not know under their paths.
    @Test(arguments: [Simulation.StoreKind.directory, .memory]) func findsMovesThatAreNotNoted(
        over store: Simulation.StoreKind
    ) {
        let found = (0..<200 as Range<UInt64>).contains { seed in
            do throws(Simulation.FailedRun) {
                _ = try Simulation(store: store, forgetsIntended: true, shrinks: false).run(seed: seed)
                return false
            } catch {
                return true
            }
        }
        #expect(found)
    }

    /// Every call to the disk and every outcome is the same whenever a seed is played. The seeds play in other
    /// processes, in which all dictionaries have one order, as in that of `make simulate`.
    @Test func aSeedAlwaysPlaysTheSame() async throws {
        #expect(OneOrder.isSet)
        let first = try await Self.traces()
        let second = try await Self.traces()
        #expect(!first.isEmpty)
        #expect(first == second)
    }

    /// Traces of some seeds, played in another process.
    private static func traces() async throws -> [UInt8] {
        let result = await #expect(
            processExitsWith: .success, observing: [\.standardOutputContent]
        ) {
            for store in Simulation.StoreKind.allCases {
                for seed in 0..<4 as Range<UInt64> {
                    print("trace", store, seed, try Simulation(store: store).run(seed: seed).trace)
                }
            }
        }
        return result?.standardOutputContent ?? []
    }
}

/// Gives all dictionaries one order in processes that the tests start. The variable stays set, because the tests of one
/// process run at the same time.
enum OneOrder {
    static let isSet = setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1) == 0
}
