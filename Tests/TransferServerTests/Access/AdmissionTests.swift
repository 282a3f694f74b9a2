import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO
@testable import TransferServer

/// Admission of connections by their numbers alone.
@Suite struct AdmissionTests {
    /// Holds the mutable value, which an expectation cannot change itself.
    private final class Door {
        private var admission: ConnectionLimits

        init(connections: Int = 100, perNetwork: Int = 3, pending: Int = 4) {
            admission = ConnectionLimits(
                .init(connections: connections, perNetwork: perNetwork, pending: pending, refusals: 1))
        }

        var count: Int { admission.count }

        /// Lets a connection arrive, and begins its handshake if it is admitted.
        func arrive(_ number: Int, from network: PeerNetwork?) -> ConnectionLimits.Verdict {
            let verdict = admission.arrive(number, from: network)
            if case .admitted = verdict { admission.begin(number) }
            return verdict
        }

        func establish(_ number: Int) { admission.establish(number) }
        func leave(_ number: Int) -> Bool { admission.leave(number) }
        func refused() { admission.refused() }
    }

    /// Makes a separate network for each number.
    private static func network(_ number: UInt8) throws -> PeerNetwork {
        let endpoint = try #require(Endpoint("192.0.2.\(number)", defaultPort: 1))
        return try #require(endpoint.resolve().first?.network)
    }

    @Test func oneNetworkGetsNoMoreThanItsShare() throws {
        let admission = Door(pending: 100)
        for number in 0..<3 {
            #expect(admission.arrive(number, from: try Self.network(1)) == .admitted(evicting: nil))
        }
        #expect(admission.arrive(3, from: try Self.network(1)) == .refused(.perNetwork, isTold: true))
        #expect(admission.arrive(4, from: try Self.network(1)) == .refused(.perNetwork, isTold: false))
        #expect(admission.arrive(5, from: try Self.network(2)) == .admitted(evicting: nil))
        #expect(admission.leave(0))
        #expect(admission.arrive(6, from: try Self.network(1)) == .admitted(evicting: nil))
        admission.refused()
        #expect(admission.arrive(7, from: try Self.network(1)) == .refused(.perNetwork, isTold: true))
    }

    @Test func thisMachineIsNotCounted() {
        let admission = Door(pending: 100)
        for number in 0..<50 { #expect(admission.arrive(number, from: nil) == .admitted(evicting: nil)) }
    }

    @Test func theLongestPendingGoesFirst() {
        let admission = Door()
        for number in 0..<4 {
            #expect(admission.arrive(number, from: nil) == .admitted(evicting: nil))
        }
        admission.establish(0)
        #expect(admission.arrive(4, from: nil) == .admitted(evicting: nil))
        #expect(admission.arrive(5, from: nil) == .admitted(evicting: .init(number: 1, shortage: .pending)))
        #expect(!admission.leave(1), "its place is taken already")
        #expect(admission.leave(0))
    }

    /// A client that opens hundreds of connections loses its own, not those of clients that came before.
    @Test func aCrowdLosesItsOwn() throws {
        let admission = Door(perNetwork: 100, pending: 8)
        #expect(admission.arrive(0, from: try Self.network(1)) == .admitted(evicting: nil))
        for number in 1...7 {
            #expect(admission.arrive(number, from: try Self.network(2)) == .admitted(evicting: nil))
        }
        for number in 8..<50 {
            #expect(
                admission.arrive(number, from: try Self.network(2))
                    == .admitted(evicting: .init(number: number - 7, shortage: .pending)))
        }
    }

    @Test func aFullHouseLosesWhoHasNotIntroducedHimself() {
        let admission = Door(connections: 2, pending: 10)
        for number in 0..<2 {
            #expect(admission.arrive(number, from: nil) == .admitted(evicting: nil))
        }
        admission.establish(0)
        #expect(admission.arrive(2, from: nil) == .admitted(evicting: .init(number: 1, shortage: .pending)))
        admission.establish(2)
        #expect(admission.arrive(3, from: nil) == .admitted(evicting: nil), "it waits until somebody leaves")
    }

    /// The last places are for networks without a connection, and a network that holds all places gives its oldest ones
    /// back.
    @Test func whoHasNoneGetsAPlace() throws {
        let admission = Door(connections: 16, perNetwork: 10, pending: 100)
        func come(_ number: Int, _ network: UInt8) throws -> ConnectionLimits.Verdict {
            let verdict = admission.arrive(number, from: try Self.network(network))
            admission.establish(number)
            return verdict
        }
        for number in 0..<14 { #expect(try come(number, number < 8 ? 1 : 2) == .admitted(evicting: nil)) }
        #expect(try come(14, 1) == .refused(.places, isTold: true))
        #expect(try come(15, 2) == .refused(.places, isTold: false))
        for number in 16...17 { #expect(try come(number, UInt8(number)) == .admitted(evicting: nil)) }
        for (number, victim) in [(18, 0), (19, 1)] {
            #expect(
                try come(number, UInt8(number)) == .admitted(evicting: .init(number: victim, shortage: .places)))
        }
        // Both networks have six connections now, and no network loses its only one.
        #expect(admission.count == 16 && admission.leave(16))
        #expect(try come(20, 17) == .refused(.places, isTold: false))
        #expect(admission.arrive(21, from: nil) == .admitted(evicting: nil), "this machine's are not counted")
    }

    @Test func nobodyLosesAnOnlyConnection() throws {
        let admission = Door(connections: 3, pending: 100)
        for number in 0..<3 {
            #expect(admission.arrive(number, from: try Self.network(UInt8(number))) == .admitted(evicting: nil))
            admission.establish(number)
        }
        #expect(
            admission.arrive(3, from: try Self.network(9)) == .admitted(evicting: nil), "it waits until somebody leaves"
        )
    }

    /// Compares seeded runs with a plain set of all connections.
    @Test(arguments: [1, 2, 3] as [UInt64]) func countsAreKept(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let admission = Door(connections: 20, perNetwork: 6, pending: 8)
        var present: Set<Int> = []
        let networks = [nil] + (try (1...5).map { try Self.network(UInt8($0)) })
        for number in 0..<5000 {
            switch admission.arrive(number, from: networks.randomElement(using: &generator) ?? nil) {
            case .admitted(let evicted):
                if let evicted { #expect(present.remove(evicted.number) != nil) }
                present.insert(number)
            case .refused(_, let isTold): if isTold { admission.refused() }
            }
            if Bool.random(using: &generator) { admission.establish(number) }
            if present.count > 15, let gone = present.randomElement(using: &generator) {
                #expect(admission.leave(gone))
                present.remove(gone)
            }
            #expect(admission.count == present.count)
        }
        for number in present { #expect(admission.leave(number)) }
        for number in 10_000..<10_006 {
            #expect(admission.arrive(number, from: networks[1]) == .admitted(evicting: nil))
        }
    }
}
