import Glibc
import Testing
import TransferSimulation

@Suite struct SimulationTests {
    /// Some seconds of what `make simulate` does without end.
    @Test(arguments: 0..<8, Simulation.StoreKind.allCases)
    func nothingIsBroken(_ group: UInt64, over store: Simulation.StoreKind) throws {
        for seed in group * 1000..<group * 1000 + 6 { _ = try Simulation(store: store).run(seed: seed) }
    }

    /// A simulator that finds nothing in a server which breaks its promise would be worth nothing.
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

    /// Neither in one that moves files without a note: whatever kills it there leaves files that nobody knows under their paths.
    @Test(arguments: Simulation.StoreKind.allCases) func findsMovesThatAreNotNoted(over store: Simulation.StoreKind) {
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

    /// Every call to the disk and every outcome is the same whenever a seed is played. In processes of their own, which have
    /// one order for all dictionaries, as that of `make simulate` has.
    @Test func aSeedAlwaysPlaysTheSame() async throws {
        #expect(OneOrder.isSet)
        let first = try await Self.traces()
        let second = try await Self.traces()
        #expect(!first.isEmpty)
        #expect(first == second)
    }

    /// What some seeds come to in another process.
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

/// Processes that the tests start have one order for all dictionaries. Never undone: the tests of one process run at the same time.
enum OneOrder {
    static let isSet = setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1) == 0
}
