import TransferAccess
import TransferClassic
package import TransferIO
import TransferIntake
package import TransferKeys
package import TransferModel
package import TransferProtocol
package import TransferPorts
package import TransferSystem

/// What the operator of a server can choose.
package struct ServerConfiguration: Sendable {
    /// Where to store; made if missing, its parent must exist.
    package var directory: String

    /// Where the catalog and the mailboxes are; nil for the server's own folder in the directory.
    package var stateDirectory: String?

    /// A descriptor of the directory's lock, which this process or its supervisor has taken and may lose to another machine; it becomes
    /// the server's. Nil where the server takes the lock itself.
    package var lock: Int32?

    /// Where to listen; at least one.
    package var endpoints: [Endpoint]

    /// Where clients of the classic framings come in.
    package var classic: [ClassicListener] = []

    /// Whether these may listen where others can reach them.
    package var isClassicBeyondThisMachine = false

    /// Whether HTTP is spoken at `endpoints`.
    package var http = HTTPUse.off

    /// Where proxies bring what is asked over HTTP, without encryption.
    package var plainHTTP: [PlainHTTPListener] = []

    /// Whether these may listen where others can reach them.
    package var isPlainHTTPBeyondThisMachine = false

    /// Who is believed when he says whom he asks for.
    package var trustedProxies: [TrustedProxy] = []

    /// Where programs that watch over the server find its numbers.
    package var metrics = MetricsUse.off

    /// Sockets that somebody else has bound, to accept on in place of those.
    package var sockets: [ServerSocket] = []

    /// What a supervised server is told; nothing where nobody starts it again.
    package var supervision: Supervision?

    package struct Supervision: Sendable {
        /// Workers that a signal has ended before this one. What they have said at their start isn't said again.
        package let restarts: Int

        package init(restarts: Int) {
            self.restarts = restarts
        }
    }

    /// Whether it takes the place of one that a signal has ended.
    var isRestart: Bool { (supervision?.restarts ?? 0) > 0 }

    /// How clients find it on their network; nothing for a server that nobody is to find.
    package var discovery: DiscoveryOptions?

    /// The address under which clients reach it, where its operator has said so; only told to whoever asks for the status.
    package var advertised: String?

    /// How connections are protected.
    package enum Security: Sendable {
        /// TLS with the server's own key, which clients know or learn.
        case identity
        /// TLS with a certificate that others vouch for; paths of PEM files.
        case certificate(String, key: String)
        /// Not at all.
        ///
        /// - Parameter beyondThisMachine: also on addresses that others can reach.
        case plaintext(beyondThisMachine: Bool)

        /// Without protection, where only this machine can connect.
        package static let plaintext = Security.plaintext(beyondThisMachine: false)

        package var isEncrypted: Bool {
            if case .plaintext = self { false } else { true }
        }
    }

    /// How connections are protected.
    package var security = Security.identity

    /// Who may come in. Without TLS nobody can tell, so then everybody may.
    package enum Access: Sendable {
        /// Who shows a key or a token that the lists of the directory have; and from this machine, who has this key.
        case listed(owner: PublicKey?)
        case everyone
    }

    /// Who may come in.
    package var access = Access.listed(owner: nil)

    /// A server that is bound to its addresses and has accepted nobody yet.
    package struct Bound: Sendable {
        /// With the ports that the system chose where 0 was asked for.
        package let endpoints: [Endpoint]

        /// What clients know it by; nothing without TLS.
        package let key: KeyFingerprint?
    }

    /// Called on the pool when the addresses are known and before the process is confined: the last moment for files that
    /// are not in the directory. It may block, and says what is to be logged.
    package var whenBound: @Sendable (Bound) -> [LogEvent] = { _ in [] }

    /// What acknowledgements promise about a crash of the machine.
    package var durability = Durability.commit

    /// How much of the disk uploads may take.
    package var space = SpaceLimits()

    /// Bytes of the largest upload that is taken.
    package var maximumUpload = Limits.uploadSize

    /// Connections at once; more wait in the kernel's queue.
    package var maximumConnections = 4096

    /// Connections at once from one IPv4 address or IPv6 /64; more are turned away. Eight users behind one address can
    /// have 32 lanes each, as over a line that loses much, and sixteen addresses are needed to take all places. This
    /// machine's own addresses are not counted.
    package var maximumPerNetwork = 256

    /// Whom a connection is counted for, nothing for nobody; another one for tests, which have this machine's addresses
    /// only.
    package var network: @Sendable (SocketAddress) -> PeerNetwork? = { $0.network }

    /// Connections whose handshake is not done; a newcomer takes the place of the one that has waited longest. Each costs
    /// some 6 KiB, and with a round trip of 200 ms so many let 2,500 clients in each second.
    package var maximumPending = 512

    package var timeouts = Liveness.Timeouts()

    /// How long running uploads may go on after the server was told to stop.
    package var drain = Interval.seconds(30)

    /// How long what is known of an unfinished upload stays in memory when every connection that worked on it has gone.
    /// Whoever comes back later has it read from the disk again.
    package var keepParts = Interval.seconds(300)

    /// How long what has arrived of an unfinished upload stays on disk when nothing is added to it.
    package var keepUnfinished = Interval.seconds(7 * 86_400)

    /// Whether clients are told that files get the owners that they say; only root can give files away (chown(2)).
    package var offersOwners = Privileges.areRoots

    /// Whether clients are told which directory of this machine the server stores in. No two runs of the kernel say the same.
    package var tellsDirectory = true

    /// Whether all that clients remove goes to the trash, and not only what they want to have there, and what gives way to something
    /// else. Nil for what the directory had before; a new one has it.
    package var trash: Bool?

    /// How long something stays in the trash.
    package var keepTrash = Interval.seconds(30 * 86_400)

    /// Uploads in parts that are worked on at once, over all connections. Each holds a descriptor.
    package var maximumMultiparts = 1024

    /// Whether the whole process gives up what a server doesn't need before it accepts anybody: see `Confinement`. Only for
    /// a process that does nothing else.
    package var isConfined = false

    /// Whether what is for somebody is kept for him. Only where clients have names.
    package var keepsMail = true

    /// Bytes that may wait for one person; of these, one sender may fill half.
    package var mailboxQuota: UInt64 = 10 << 30

    /// How long something waits for somebody who doesn't come.
    package var keepMail = Interval.seconds(30 * 86_400)

    /// Files beside those of `security` that are read again while the server runs.
    package var rereadFiles: [RereadFile] = []

    /// A file that a confined process can still read.
    package struct RereadFile: Sendable {
        package let path: String

        /// Whether another file may take its place. Then everything in its folder can be read.
        package let isReplaceable: Bool

        package init(_ path: String, isReplaceable: Bool) {
            (self.path, self.isReplaceable) = (path, isReplaceable)
        }
    }

    /// Whether programs of the same user on this machine may ask what the server does: see `StatusSocket`.
    package var tellsStatus = false

    /// Threads that run event loops; a session stays on its loop for life.
    package var loops = 2

    /// Threads for work that blocks.
    package var blockingThreads = 8

    /// Threads that read what has arrived of an unfinished upload before; it is as fast as memory with one for each core.
    package var digestThreads = 4

    /// Uploads of one connection that are published together at most. Each holds a descriptor until then, and what
    /// arrives at once can complete thousands.
    package var filesAtOnce = 256

    /// The program and its version, as told to clients.
    package var agent = ""

    package init(directory: String, endpoints: [Endpoint]) {
        self.directory = directory
        self.endpoints = endpoints
        timeouts.minimumRate = 1024
    }
}

/// Whether HTTP is spoken where a server listens, beside its own protocol.
package enum HTTPUse: String, CaseIterable, Sendable {
    case on, off
    /// And nothing else.
    case only
}

/// Where a server tells of itself in numbers.
package enum MetricsUse: Equatable, Sendable {
    case off
    /// Where HTTP is spoken, to clients that may see everything.
    case on
    /// To whoever reaches this address, where nothing else is answered.
    case listener(Endpoint)
}

/// Why a server could not start.
package struct ServerError: Error, Equatable, Sendable {
    /// A sentence that says what to do.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}

extension ServerConfiguration {
    /// Whether everybody is let in.
    var isOpen: Bool {
        if case .everyone = access { return true }
        return !security.isEncrypted
    }

    /// Decides who may come in by these lists; nil where no client can be told from another.
    func authenticator(_ open: (ServerConfiguration) -> any AccessLists) -> Authenticator? {
        guard security.isEncrypted else { return nil }
        return switch access {
        case .everyone: Authenticator(open(self), isOpen: true)
        case .listed(let owner): Authenticator(open(self), owner: owner)
        }
    }
}

extension ServerConfiguration {
    /// What the server is called, as far as this machine knows it without asking the network, in lower case: names, and
    /// addresses in digits. For its certificate, and to know whether it is the one that a browser means.
    var ownNames: [String] {
        var names = ["localhost", "127.0.0.1", "::1"] + hostNames
        let hosts = (endpoints + [advertised.flatMap { Endpoint($0, defaultPort: 0) }].compactMap(\.self))
            .compactMap(\.host)
        names += hosts.filter { !Self.isEverything($0) }
        let bound = sockets.filter { $0.use == nil }.compactMap { IPAddress($0.socket.address) }
        names += bound.filter { !$0.isUnspecified }.compactMap(\.text)
        if hosts.contains(where: Self.isAllIPv4) || bound.contains(.ipv4(0)) { names += Self.addresses }
        return names.reduce(into: []) { unique, name in
            let name = name.lowercased()
            if !unique.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { unique.append(name) }
        }
    }

    /// The machine's name, and what neighbours call it (RFC 6762).
    private var hostNames: [String] {
        guard let name = HostName.own else { return [] }
        return name.utf8.contains(UInt8(ascii: ".")) ? [name] : [name, name + ".local"]
    }

    private static func isAllIPv4(_ host: String) -> Bool { host == "*" || IPAddress(host) == .ipv4(0) }

    private static func isEverything(_ host: String) -> Bool { host == "*" || IPAddress(host)?.isUnspecified ?? false }

    /// IPv4 only: many machines take new IPv6 addresses every day, and each would need another certificate.
    private static var addresses: [String] {
        let interfaces = (try? NetworkInterface.all()) ?? []
        return interfaces.filter { $0.address.family == IPAddress.ipv4Loopback.family }.compactMap(\.address.text)
    }
}

extension Endpoint {
    /// Without a zone, which belongs to this machine.
    fileprivate var host: String? {
        guard case .internet(let host, _) = self else { return nil }
        return String(Substring(host.utf8.prefix { $0 != UInt8(ascii: "%") }))
    }
}

extension ServerConfiguration {
    /// The sockets to accept on: those that were handed over, and new ones for what these don't serve. Blocks.
    ///
    /// - Returns: the caller's to close.
    /// - Throws: `ServerError`; then none is open.
    package func bind() throws(ServerError) -> [ServerSocket] {
        var bound = sockets
        do throws(ServerError) {
            for socket in sockets { try checkReach(of: socket.socket.address, socket.socket.endpoint, socket.use) }
            for (endpoint, use) in unserved {
                for address in try Self.resolve(endpoint) {
                    bound.append(ServerSocket(try bind(endpoint, address, use), for: use))
                }
            }
            return bound
        } catch {
            for socket in bound { socket.socket.close() }
            throw error
        }
    }

    /// Where to listen, as far as no socket for it was handed over.
    var unserved: [(Endpoint, use: ListenerUse?)] {
        let usual = endpoints.map { ($0, nil as ListenerUse?) }
        let others = specialUses.map { ($0.endpoint, $0 as ListenerUse?) }
        return (usual + others).filter { _, use in !sockets.contains { $0.use?.name == use?.name } }
    }

    /// What there are listeners for beside the usual ones.
    package var specialUses: [ListenerUse] { classic.map { .classic($0) } + plainHTTP.map { .http($0) } }

    private static func resolve(_ endpoint: Endpoint) throws(ServerError) -> [SocketAddress] {
        do throws(ResolutionError) {
            return try endpoint.resolve()
        } catch {
            throw ServerError("Cannot listen on \(endpoint): \(error.reason).")
        }
    }

    private func bind(
        _ endpoint: Endpoint, _ address: SocketAddress, _ use: ListenerUse?
    ) throws(ServerError) -> BoundSocket {
        try checkReach(of: address, endpoint, use)
        do throws(SystemError) {
            if case .unix(let path) = endpoint {
                return try BoundSocket(
                    address, unixPath: path, mode: use?.http == nil ? nil : PlainHTTPListener.socketMode)
            }
            return try BoundSocket(address)
        } catch {
            let advice =
                switch use {
                case nil: "Is another server running? Choose another address with --listen."
                case .classic:
                    "Has --listen the same, or is another server running? Choose another address with --classic."
                case .http:
                    "Has --listen the same, or is another server running? Choose another address with --http-plain."
                }
            throw ServerError(
                "Cannot listen on \(endpoint): \(error.reason)." + (error.isAddressInUse ? " " + advice : ""))
        }
    }

    /// Neither the classic framings nor what proxies bring is encrypted.
    private func checkReach(
        of address: SocketAddress, _ endpoint: Endpoint, _ use: ListenerUse?
    ) throws(ServerError) {
        guard !address.isLocal else { return }
        switch use {
        case .classic(let classic):
            guard !isClassicBeyondThisMachine else { return }
            throw ServerError(
                "Others can reach \(endpoint), and the framing \(classic.framing.name) knows no encryption and "
                    + "no keys: they could push, and read and change what is sent. Choose an address of this machine, or "
                    + "say --allow-insecure.")
        case .http:
            guard !isPlainHTTPBeyondThisMachine else { return }
            throw ServerError(
                "Others can reach \(endpoint), and --http-plain knows no encryption: they could read tokens and what is sent. "
                    + "Choose an address of this machine, or say --allow-insecure.")
        case nil: break
        }
        guard case .plaintext(beyondThisMachine: false) = security else { return }
        throw ServerError(
            "Others can reach \(endpoint), and without encryption they could read and change what is sent. Serve with "
                + "TLS, without --plaintext, or say --allow-insecure.")
    }
}
