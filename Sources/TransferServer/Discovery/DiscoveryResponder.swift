package import TransferModel
package import TransferProtocol
package import TransferSystem

/// Decides how to answer a datagram. Does no I/O.
///
/// No answer is ever larger than the datagram, and no server answers another server's answer:
/// - an answer begins as probes do, and servers neither answer nor echo a datagram that begins so and is no probe;
/// - an echo has to have the same bytes as the datagram, so it is marked in the IP header, by a traffic class that nothing else uses. If a
///   router removes the mark, an echo still has one hop fewer than what it echoes, and a server sends nothing to its own port number, which
///   most other servers have too, nor to the ports of small services.
package struct DiscoveryResponder {
    /// What is known of a datagram besides its bytes.
    package struct Arrival {
        /// UDP port of the sender.
        package var port: UInt16
        /// The network for which limits count the sender; nil for this machine.
        package var network: PeerNetwork?
        /// Whether it was sent to several machines.
        package var isForMany = false
        /// Whether its sender is on the same link, as far as that is known.
        package var isFromLink = true
        /// Hops that it had left; nil if the kernel does not say.
        package var hops: UInt8? = 64
        /// Traffic class in its IP header; nil if the kernel does not say.
        package var trafficClass: UInt8? = 0
        /// Ports of listeners at the address that it was sent to; empty if clients could not connect there.
        package var ports: [UInt16]

        package init(port: UInt16, network: PeerNetwork?, ports: [UInt16]) {
            (self.port, self.network, self.ports) = (port, network, ports)
        }
    }

    /// The decision about one datagram.
    package enum Reply: Equatable {
        case nothing(Silence)
        case answer([UInt8], hops: UInt8)
        /// The bytes of the datagram are sent back.
        case echo(hops: UInt8)
    }

    /// Why no answer is sent.
    package enum Silence: Equatable {
        case notServed, fromAServer, fromAService, fromOutside, marked, answer, malformed, tooFar, tooMuch
    }

    /// What an answer states about the server.
    package struct Identity: Sendable {
        let name: DiscoveryName
        /// A random number for this process.
        let instance: UInt64

        package init(name: DiscoveryName, instance: UInt64) {
            (self.name, self.instance) = (name, instance)
        }
    }

    /// The traffic class of everything that is sent: a code point for local use, 000011 (RFC 2474, section 6, pool 2).
    package static let mark: UInt8 = 0b0000_1100

    /// Lower ports belong to services, some of which answer everything, such as echo and chargen (RFC 862, RFC 864).
    private static let firstPortOfClients: UInt16 = 1024

    /// Hops of datagrams to other links, as most systems set them.
    static let usualHops: UInt8 = 64

    private let identity: Identity
    private let ownPorts: Set<UInt16>
    private var limiter: DiscoveryLimiter

    /// All sockets of a server share one responder, so that all answers together are limited.
    ///
    /// - Parameter ownPorts: the ports of the sockets.
    package init(_ identity: Identity, ownPorts: Set<UInt16>, at now: MonotonicTime) {
        (self.identity, self.ownPorts) = (identity, ownPorts)
        limiter = DiscoveryLimiter(at: now)
    }

    /// - Parameter keyDigest: digest of the server's current key; nil without TLS. Called only for an answer that has it.
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

    /// One hop fewer than the datagram had left, so that no loop is endless. An echo of a datagram to several machines stays on the link.
    ///
    /// - Returns: nil if no hops are left, or if their number is not known.
    private static func hopsOfEcho(_ arrival: Arrival) -> UInt8? {
        if arrival.isForMany { return 1 }
        guard let hops = arrival.hops, hops > 1 else { return nil }
        return min(hops - 1, usualHops)
    }
}
