package import TransferModel
package import TransferProtocol
package import TransferSystem

/// Decides what is said to a datagram. Sans-IO.
///
/// Nothing that it says is ever larger than what came, and nothing that it says is said anything to by another server:
/// - an answer begins as probes do, and nobody answers or echoes what begins so and is no probe;
/// - an echo has to be the very bytes that came, so it is marked in the IP header, by a traffic class that nothing else has.
///   Where something on the way takes the mark off, an echo still has one hop fewer than what it echoes, and a server says
///   nothing to its own port number, which is that of most other servers, nor to the ports of small services.
package struct DiscoveryResponder {
    /// What came, beside its bytes.
    package struct Arrival {
        /// Of whoever sent it.
        package var port: UInt16
        /// Whom it is held against; nothing for this machine.
        package var network: PeerNetwork?
        /// Whether it was sent to several machines.
        package var isForMany = false
        /// Whether its sender is on the same link, as far as that can be told.
        package var isFromLink = true
        /// Hops that were left to it; nothing where the kernel doesn't say.
        package var hops: UInt8? = 64
        /// That of its IP header.
        package var trafficClass: UInt8? = 0
        /// Where clients could connect, at the address that it came to; none where they could not.
        package var ports: [UInt16]

        package init(port: UInt16, network: PeerNetwork?, ports: [UInt16]) {
            (self.port, self.network, self.ports) = (port, network, ports)
        }
    }

    /// What to say.
    package enum Reply: Equatable {
        case nothing(Silence)
        case answer([UInt8], hops: UInt8)
        /// The same bytes.
        case echo(hops: UInt8)
    }

    /// Why nothing is said.
    package enum Silence: Equatable {
        case notServed, fromAServer, fromAService, fromOutside, marked, answer, malformed, tooFar, tooMuch
    }

    /// What an answer tells.
    package struct Identity: Sendable {
        let name: DiscoveryName
        /// Random, of this process.
        let instance: UInt64

        package init(name: DiscoveryName, instance: UInt64) {
            (self.name, self.instance) = (name, instance)
        }
    }

    /// The traffic class of all that is sent: a code point for local use, 000011 (RFC 2474, section 6, pool 2).
    package static let mark: UInt8 = 0b0000_1100

    /// Ports below are of services, some of which answer whatever comes, such as echo and chargen (RFC 862, RFC 864).
    private static let firstPortOfClients: UInt16 = 1024

    /// Hops of what goes to somebody elsewhere, as of most systems.
    static let usualHops: UInt8 = 64

    private let identity: Identity
    private let ownPorts: Set<UInt16>
    private var limiter: DiscoveryLimiter

    /// One for all sockets of a server, so that what it says in all is bounded.
    ///
    /// - Parameter ownPorts: those of the sockets.
    package init(_ identity: Identity, ownPorts: Set<UInt16>, at now: MonotonicTime) {
        (self.identity, self.ownPorts) = (identity, ownPorts)
        limiter = DiscoveryLimiter(at: now)
    }

    /// - Parameter keyDigest: of the key that the server shows now; nothing without TLS. Asked for only when it is told.
    package mutating func reply(
        to bytes: ArraySlice<UInt8>, _ arrival: Arrival, keyDigest: () -> [UInt8]?, at now: MonotonicTime
    ) -> Reply {
        if let silence = silence(about: arrival) { return .nothing(silence) }
        switch Result(catching: { () throws(DiscoveryFault) in try DiscoveryDatagram.decode(bytes) }) {
        case .failure: return .nothing(.malformed)
        case .success(.answer): return .nothing(.answer)
        case .success(.probe(let nonce)):
            let answer = DiscoveryAnswer(
                nonce, instance: identity.instance, keyDigest: keyDigest(), ports: arrival.ports, name: identity.name)
            guard let content = answer?.bytes, content.count <= bytes.count else { return .nothing(.malformed) }
            guard limiter.admits(arrival.network, bytes: content.count, at: now) else { return .nothing(.tooMuch) }
            return .answer(content, hops: arrival.isForMany ? 1 : Self.usualHops)
        case .success(.other):
            guard let hops = Self.hopsOfEcho(arrival) else { return .nothing(.tooFar) }
            guard limiter.admits(arrival.network, bytes: bytes.count, at: now) else { return .nothing(.tooMuch) }
            return .echo(hops: hops)
        }
    }

    private func silence(about arrival: Arrival) -> Silence? {
        if arrival.ports.isEmpty { return .notServed }
        if ownPorts.contains(arrival.port) { return .fromAServer }
        if arrival.port < Self.firstPortOfClients { return .fromAService }
        if arrival.trafficClass == Self.mark { return .marked }
        return arrival.isForMany && !arrival.isFromLink ? .fromOutside : nil
    }

    /// One fewer than what came had left, so that no circle is without end. What came to many stays on the link.
    ///
    /// - Returns: nothing when there are none left, or nobody knows.
    private static func hopsOfEcho(_ arrival: Arrival) -> UInt8? {
        if arrival.isForMany { return 1 }
        guard let hops = arrival.hops, hops > 1 else { return nil }
        return min(hops - 1, usualHops)
    }
}
