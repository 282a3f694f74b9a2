package import TransferAccess
import TransferClassic
package import TransferIO
import TransferIntake
package import TransferKeys
package import TransferModel
package import TransferProtocol
package import TransferPorts
package import TransferSystem

/// The settings that the operator of a server can choose.
package struct ServerConfiguration: Sendable {
    /// Path of the directory to store in; for a server of a cluster, the path of a folder on this machine. It is made if it is missing; its
    /// parent must exist.
    package var directory: String

    /// The bucket and the database of a cluster; nil to store in `directory`.
    package var cluster: ClusterOptions?

    /// Path of the folder with the catalog and the mailboxes; nil for the server's own folder in the directory.
    package var stateDirectory: String?

    /// A descriptor of the directory's lock, which this process or its supervisor has taken and may lose to another machine. The server
    /// owns it from then on. Nil if the server takes the lock itself.
    package var lock: Int32?

    /// Addresses to listen on; at least one.
    package var endpoints: [Endpoint]

    /// Listeners for the classic framings.
    package var classic: [ClassicListener] = []

    /// Whether listeners for the classic framings may use addresses that other machines can reach.
    package var isClassicBeyondThisMachine = false

    /// Whether HTTP is spoken at `endpoints`.
    package var http = HTTPUse.off

    /// Listeners for reverse proxies, which forward HTTP requests without encryption.
    package var plainHTTP: [PlainHTTPListener] = []

    /// Whether listeners for proxies may use addresses that other machines can reach.
    package var isPlainHTTPBeyondThisMachine = false

    /// The trusted proxies: the server believes what they state about the client of a request.
    package var trustedProxies: [TrustedProxy] = []

    /// The TCP balancers. Each of their connections to the usual listeners must begin with a PROXY header, which states the client.
    package var balancers: [TrustedProxy] = []

    /// Where monitoring programs can read the server's metrics.
    package var metrics = MetricsUse.off

    /// Sockets that another process has bound. The server accepts on them instead of binding its own.
    package var sockets: [ServerSocket] = []

    /// What the supervisor passes to its worker; nil if no supervisor starts this server again.
    package var supervision: Supervision?

    package struct Supervision: Sendable {
        /// Number of workers before this one that a signal has ended. This worker does not log again what they logged at their start.
        package let restarts: Int

        package init(restarts: Int) {
            self.restarts = restarts
        }
    }

    /// Whether this server replaces a worker that a signal has ended.
    var isRestart: Bool { (supervision?.restarts ?? 0) > 0 }

    /// How clients find the server on their network; nil if they cannot.
    package var discovery: DiscoveryOptions?

    /// The address under which clients reach the server, as its operator states it. Only the status shows it.
    package var advertised: String?

    /// How connections are encrypted, and how the server proves its identity.
    package enum Security: Sendable {
        /// TLS with the server's own key, which clients know already or learn at the first connection.
        case identity
        /// TLS with a certificate of a certificate authority; paths of PEM files.
        case certificate(String, key: String)
        /// No encryption.
        ///
        /// - Parameter beyondThisMachine: whether to listen also on addresses that other machines can reach.
        case plaintext(beyondThisMachine: Bool)

        /// No encryption, and only this machine can connect.
        package static let plaintext = Security.plaintext(beyondThisMachine: false)

        package var isEncrypted: Bool {
            if case .plaintext = self { false } else { true }
        }
    }

    /// When thumbnails of stored pictures are made.
    package var thumbnails = ThumbnailUse.off

    /// Most decoders of pictures that run at once.
    package var decoders = 1

    /// The encryption of the usual listeners.
    package var security = Security.identity

    /// Which clients may connect. Without TLS the server cannot distinguish clients, so every client may.
    package enum Access: Sendable {
        /// Clients with a key or a token from the lists of the directory; from this machine, also the client with the key `owner`.
        case listed(owner: PublicKey?)
        case everyone
    }

    /// Which clients may connect. Only used if connections are encrypted.
    package var access = Access.listed(owner: nil)

    /// A server that has bound its addresses and has not yet accepted a connection.
    package struct Bound: Sendable {
        /// The bound addresses, with the ports that the system chose for port 0.
        package let endpoints: [Endpoint]

        /// The fingerprint by which clients recognise the server; nil without TLS.
        package let key: KeyFingerprint?

        /// The access lists of the server.
        package let access: any ManagedAccess
    }

    /// Called on the pool after the addresses are bound and before the process is confined: the last moment to write files outside the
    /// directory. It may block, and returns events to log.
    package var whenBound: @Sendable (Bound) -> [LogEvent] = { _ in [] }

    /// What acknowledgements promise about a crash of the machine.
    package var durability = Durability.commit

    /// Limits for the disk space that uploads may use.
    package var space = SpaceLimits()

    /// Largest upload that is accepted, in bytes.
    package var maximumUpload = Limits.uploadSize

    /// Most connections at the same time; more wait in the kernel's queue.
    package var maximumConnections = 4096

    /// Most connections at the same time from one IPv4 address or IPv6 /64; more are refused. Eight users behind one address can have 32
    /// lanes each, as on a connection that loses many packets, and only sixteen addresses together can take all places. Connections from
    /// this machine's own addresses are not counted.
    package var maximumPerNetwork = 256

    /// The network for which a connection is counted; nil if it is not counted. Tests replace it, because they only have this machine's
    /// addresses.
    package var network: @Sendable (SocketAddress) -> PeerNetwork? = { $0.network }

    /// Most connections whose handshake is not done; a new connection replaces the one that has waited longest. Each costs about 6 KiB.
    /// With a round trip of 200 ms, 512 of them let 2,500 clients connect in each second.
    package var maximumPending = 512

    package var timeouts = Liveness.Timeouts()

    /// How long the server goes on accepting connections after it was asked to stop, while its probes say that it stops.
    package var drainDelay = Interval.seconds(0)

    /// How long running uploads may continue after the server was asked to stop.
    package var drain = Interval.seconds(30)

    /// How long an unfinished upload stays in memory after its last connection has gone. If a client continues the upload later, its state
    /// is read from the disk.
    package var keepParts = Interval.seconds(300)

    /// How long the received content of an unfinished upload stays on the disk when no client adds to it.
    package var keepUnfinished = Interval.seconds(7 * 86_400)

    /// Whether the server offers clients to set the owners of files; only root can give files away (chown(2)).
    package var offersOwners = Privileges.areRoots

    /// Whether the server tells clients on the same machine which directory it stores in. The identity that it states changes with each
    /// boot of the machine.
    package var tellsDirectory = true

    /// Whether everything that clients remove or replace goes to the trash. If false, only what a client asks to keep there does. Nil for
    /// the directory's earlier setting; a new directory has true.
    package var trash: Bool?

    /// How long removed files stay in the trash.
    package var keepTrash = Interval.seconds(30 * 86_400)

    /// Most multipart uploads at the same time, over all connections. Each holds a descriptor.
    package var maximumMultiparts = 1024

    /// Whether the process gives up all rights that a server does not need before it accepts connections; see `Confinement`. Only for a
    /// process that has no other work.
    package var isConfined = false

    /// Whether uploads that are addressed to a person wait in a mailbox. This takes effect only if clients have names.
    package var keepsMail = true

    /// Most bytes that may wait for one person; one sender may use half of them.
    package var mailboxQuota: UInt64 = 10 << 30

    /// How long a delivery waits for a person who does not fetch it.
    package var keepMail = Interval.seconds(30 * 86_400)

    /// Files that are read again while the server runs, besides those of `security`.
    package var rereadFiles: [RereadFile] = []

    /// A file that a confined process may still read.
    package struct RereadFile: Sendable {
        package let path: String

        /// Whether the file may be replaced by another one of the same name. Then the process can read everything in its folder.
        package let isReplaceable: Bool

        package init(_ path: String, isReplaceable: Bool) {
            (self.path, self.isReplaceable) = (path, isReplaceable)
        }
    }

    /// Whether programs of the same user on this machine may ask for the server's status; see `StatusSocket`.
    package var tellsStatus = false

    /// Number of threads that run event loops; a session stays on one loop.
    package var loops = 2

    /// Number of threads of the pool for work that blocks.
    package var blockingThreads = 8

    /// Threads that read the received content of an unfinished upload again. With one for each core, reading is as fast as the memory.
    package var digestThreads = 4

    /// Most uploads of one connection that are published together. Each holds a descriptor until then, and one received buffer can complete
    /// thousands of uploads.
    package var filesAtOnce = 256

    /// Program and version, as the server states them to clients.
    package var agent = ""

    package init(directory: String, endpoints: [Endpoint]) {
        self.directory = directory
        self.endpoints = endpoints
        timeouts.minimumRate = 1024
    }
}

/// Whether a listener speaks HTTP beside the server's own protocol.
package enum HTTPUse: String, CaseIterable, Sendable {
    case on, off
    /// HTTP and no other protocol.
    case only
}

/// When a server makes thumbnails of stored pictures.
package enum ThumbnailUse: String, CaseIterable, Sendable {
    /// When a client wants to see one. Once one was seen, also of each picture that is stored, while no client waits.
    case on
    /// Only when a client wants to see one.
    case demand
    case off
}

/// Where a server shows its metrics.
package enum MetricsUse: Equatable, Sendable {
    case off
    /// On the listeners that speak HTTP, to clients that may see everything.
    case on
    /// On a separate address, where nothing else is answered, to every client that reaches it.
    case listener(Endpoint)
}

/// The reason why a server could not start.
package struct ServerError: Error, Equatable, Sendable {
    /// A sentence for the operator that says what to do.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}

extension ServerConfiguration {
    /// Whether every client may connect.
    var isOpen: Bool {
        if case .everyone = access { return true }
        return !security.isEncrypted
    }

    /// - Returns: what admits clients by these lists; nil if connections are not encrypted, so that the server cannot distinguish clients.
    func authenticator(_ open: (ServerConfiguration) -> any AccessLists) -> Authenticator? {
        guard security.isEncrypted else { return nil }
        return switch access {
        case .everyone: Authenticator(open(self), isOpen: true)
        case .listed(let owner): Authenticator(open(self), owner: owner)
        }
    }
}

extension ServerConfiguration {
    /// The server's names, as far as this machine knows them without asking the network, in lower case: host names, and addresses in
    /// digits. They are for its certificate, and to decide whether a browser means this server.
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

    /// The machine's name, and its name in multicast DNS (RFC 6762).
    private var hostNames: [String] {
        guard let name = HostName.own else { return [] }
        return name.utf8.contains(UInt8(ascii: ".")) ? [name] : [name, name + ".local"]
    }

    private static func isAllIPv4(_ host: String) -> Bool { host == "*" || IPAddress(host) == .ipv4(0) }

    private static func isEverything(_ host: String) -> Bool { host == "*" || IPAddress(host)?.isUnspecified ?? false }

    /// IPv4 only: many machines get new IPv6 addresses every day, and each would need another certificate.
    private static var addresses: [String] {
        let interfaces = (try? NetworkInterface.all()) ?? []
        return interfaces.filter { $0.address.family == IPAddress.ipv4Loopback.family }.compactMap(\.address.text)
    }
}

extension Endpoint {
    /// The host without the zone, which has a meaning on this machine only.
    fileprivate var host: String? {
        guard case .internet(let host, _) = self else { return nil }
        return String(Substring(host.utf8.prefix { $0 != UInt8(ascii: "%") }))
    }
}

extension ServerConfiguration {
    /// The sockets to accept on: those that were handed over, and new ones for the endpoints that they do not serve. Blocks.
    ///
    /// - Parameter retries: called when a program has an address. May wait, and returns whether to try again; the other sockets stay bound.
    /// - Returns: sockets that the caller has to close.
    /// - Throws: `ServerError`; then all sockets are closed.
    package func bind(retries: (Endpoint) -> Bool = { _ in false }) throws(ServerError) -> [ServerSocket] {
        var bound = sockets
        do throws(ServerError) {
            for socket in sockets { try checkReach(of: socket.socket.address, socket.socket.endpoint, socket.use) }
            for (endpoint, use) in unserved {
                for address in try Self.resolve(endpoint) {
                    bound.append(ServerSocket(try bind(endpoint, address, use, retries), for: use))
                }
            }
            return bound
        } catch {
            for socket in bound { socket.socket.close() }
            throw error
        }
    }

    /// The endpoints for which no socket was handed over.
    var unserved: [(Endpoint, use: ListenerUse?)] {
        let usual = endpoints.map { ($0, nil as ListenerUse?) }
        let others = specialUses.map { ($0.endpoint, $0 as ListenerUse?) }
        return (usual + others).filter { _, use in !sockets.contains { $0.use?.name == use?.name } }
    }

    /// The uses of listeners that do not have the usual front ends.
    package var specialUses: [ListenerUse] { classic.map { .classic($0) } + plainHTTP.map { .http($0) } }

    private static func resolve(_ endpoint: Endpoint) throws(ServerError) -> [SocketAddress] {
        do throws(ResolutionError) {
            return try endpoint.resolve()
        } catch {
            throw ServerError("Cannot listen on \(endpoint): \(error.reason).")
        }
    }

    private func bind(
        _ endpoint: Endpoint, _ address: SocketAddress, _ use: ListenerUse?, _ retries: (Endpoint) -> Bool
    ) throws(ServerError) -> BoundSocket {
        try checkReach(of: address, endpoint, use)
        while true {
            do throws(SystemError) {
                return try bind(endpoint, address, use)
            } catch {
                if error.isAddressInUse, retries(endpoint) { continue }
                throw ServerError(
                    "Cannot listen on \(endpoint): \(error.reason)."
                        + (error.isAddressInUse ? " " + Self.advice(use) : ""))
            }
        }
    }

    private func bind(
        _ endpoint: Endpoint, _ address: SocketAddress, _ use: ListenerUse?
    ) throws(SystemError) -> BoundSocket {
        guard case .unix(let path) = endpoint else { return try BoundSocket(address) }
        return try BoundSocket(
            address, unixPath: path, mode: use?.http == nil ? nil : PlainHTTPListener.socketMode)
    }

    /// What to do if another program has the address of a listener.
    private static func advice(_ use: ListenerUse?) -> String {
        switch use {
        case nil: "Is another server running? Choose another address with --listen."
        case .classic:
            "Does --listen have the same address, or is another server running? Choose another address with "
                + "--classic."
        case .http:
            "Does --listen have the same address, or is another server running? Choose another address with "
                + "--http-plain."
        }
    }

    /// Neither classic framings nor proxies' requests are encrypted.
    private func checkReach(
        of address: SocketAddress, _ endpoint: Endpoint, _ use: ListenerUse?
    ) throws(ServerError) {
        guard !address.isLocal else { return }
        switch use {
        case .classic(let classic):
            guard !isClassicBeyondThisMachine else { return }
            throw ServerError(
                "Other machines can reach \(endpoint), and the framing \(classic.framing.name) has no "
                    + "encryption and no keys: they could push, and read and change uploads. Choose an "
                    + "address of this machine, or add --allow-insecure.")
        case .http:
            guard !isPlainHTTPBeyondThisMachine else { return }
            throw ServerError(
                "Other machines can reach \(endpoint), and --http-plain has no encryption: they could "
                    + "read tokens and content. Choose an address of this machine, or add --allow-insecure.")
        case nil: break
        }
        guard case .plaintext(beyondThisMachine: false) = security else { return }
        throw ServerError(
            "Other machines can reach \(endpoint), and without encryption they could read and change "
                + "content. Serve with TLS, without --plaintext, or add --allow-insecure.")
    }
}
