import Glibc
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem

/// Looks for servers that let themselves be found (`transfer serve --discover`), on this machine and on the networks that it is
/// connected to.
///
/// Answers are not protected by anything: see `FoundServer`.
public struct ServerSearch: Sendable {
    /// The port to ask at, 1 to 65535.
    public var port = ServerAddress.defaultPort

    /// How long to wait for answers, in seconds; at least 0.1 and at most 60.
    public var patience = 1.0

    /// Whom to ask in place of everybody on the network; folders count for nothing. A Unix socket is not asked.
    public var places: [ServerAddress] = []

    /// Where keys are known from; nothing to know none.
    public var known: KnownServers? = .standard

    /// How often everybody is asked: datagrams get lost.
    private static let rounds = 3

    /// Asks everybody on the network for a second.
    public init() {}

    /// Looks for them.
    ///
    /// - Returns: what was found in that time, by name; at most 256 servers.
    /// - Throws: `TransferFailure` when nobody can be asked, or the list of known servers cannot be read.
    public func servers() async throws(TransferFailure) -> [FoundServer] {
        let pool = BlockingPool(name: "transfer-find", threads: 1)
        defer { pool.close() }
        let found = await pool.run { Result { () throws(TransferFailure) in try look() } }
        return try found.get()
    }

    /// The same. Blocks.
    package func look() throws(TransferFailure) -> [FoundServer] {
        let known: [KnownServers.Entry]
        do throws(KnownServers.Fault) {
            known = try self.known?.entries() ?? []
        } catch {
            throw TransferFailure(reason: .untrusted, message: error.message)
        }
        let targets = try targets()
        var generator = SystemRandomNumberGenerator()
        let nonce = DiscoveryNonce.random(using: &generator)
        var collector = AnswerCollector(nonce)
        do throws(SystemError) {
            try ask(targets, DiscoveryDatagram.probe(with: nonce), &collector)
        } catch {
            throw TransferFailure(reason: .unreachable, message: "Cannot look for servers: \(error).")
        }
        return collector.servers(known)
    }

    private func targets() throws(TransferFailure) -> [SocketAddress] {
        guard !places.isEmpty else {
            return SearchTargets.network((try? NetworkInterface.all()) ?? [], port: port)
        }
        var targets: [SocketAddress] = []
        for place in places {
            guard case .internet(let host, _) = place.endpoint else { continue }
            do throws(ResolutionError) {
                targets += try place.endpoint.resolve()
            } catch {
                throw TransferFailure(
                    reason: .unreachable,
                    message: "Cannot ask \(host.escapedForDisplay) for servers: \(error.reason).")
            }
        }
        return targets
    }

    /// - Throws: when nobody can be asked at all.
    private func ask(
        _ targets: [SocketAddress], _ probe: [UInt8], _ collector: inout AnswerCollector
    ) throws(SystemError) {
        let sockets = try Self.sockets(Set(targets.map(\.family)))
        let begun = MonotonicTime.now
        let patience = min(max(patience, 0.1), 60)
        var buffer = [UInt8](repeating: 0, count: DatagramSocket.longest)
        for round in 1...Self.rounds {
            try Self.send(probe, to: targets, sockets)
            // The last question has as long for its answers as those before it together.
            let share = Double(round) / Double(2 * (Self.rounds - 1))
            let end = begun + Interval.seconds(round < Self.rounds ? patience * share : patience)
            while Self.wait(for: sockets, until: end) {
                for socket in sockets {
                    while let arrival = try? socket.receive(into: &buffer), MonotonicTime.now < end {
                        collector.take(buffer[..<arrival.count], from: arrival.source)
                    }
                }
            }
        }
    }

    /// One for each family of addresses that there is here.
    private static func sockets(_ families: Set<Int32>) throws(SystemError) -> [DatagramSocket] {
        var sockets: [DatagramSocket] = []
        var failure: SystemError?
        for address in [IPAddress.ipv4(0), .ipv6(high: 0, low: 0)] where families.contains(address.family) {
            do throws(SystemError) {
                sockets.append(
                    try DatagramSocket(SocketAddress(address, port: 0), broadcasts: address.family == AF_INET))
            } catch {
                failure = error
            }
        }
        if sockets.isEmpty, let failure { throw failure }
        return sockets
    }

    /// Whom it cannot be sent to isn't there.
    ///
    /// - Throws: when nobody is.
    private static func send(
        _ probe: [UInt8], to targets: [SocketAddress], _ sockets: [DatagramSocket]
    ) throws(SystemError) {
        var failure: SystemError?
        var isSent = false
        for target in targets {
            guard let socket = sockets.first(where: { $0.address.family == target.family }) else { continue }
            do throws(SystemError) {
                try socket.send(probe[...], to: target)
                isSent = true
            } catch {
                failure = error
            }
        }
        if !isSent, let failure { throw failure }
    }

    /// - Returns: false when it is too late.
    private static func wait(for sockets: [DatagramSocket], until end: MonotonicTime) -> Bool {
        let left = (end - .now).nanoseconds
        guard left > 0 else { return false }
        DatagramSocket.wait(for: sockets, milliseconds: Int32(clamping: left / 1_000_000 + 1))
        return true
    }
}
