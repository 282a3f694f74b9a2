private import Glibc
private import TransferAccess
private import TransferGallery
internal import TransferIO
private import TransferModel
import TransferProtocol
internal import TransferServer
private import TransferPorts
private import TransferStore
private import TransferSystem

/// `transfer serve`: receives uploads until a signal stops it.
struct ServeCommand {
    /// The number of shares into which the descriptors are divided: one share is for files that wait to be published
    /// together, half a share for multipart uploads, and two for connections.
    private static let descriptorShares = 4

    /// Number of descriptors that are needed for other purposes: streams, loops, listeners, the directory, the catalog.
    private static let ownDescriptors = 32

    let configuration: ServerConfiguration
    let logFormat: Log.Format
    let logLevel: LogEvent.Level
    private let arguments: ParsedArguments
    private let access: ServeAccess

    /// - Throws: `UsageError` for values that are invalid or contradict each other.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        var endpoints: [Endpoint] = []
        for text in arguments[ServeFlags.listen] {
            if let fault = Endpoint.portFault(in: text) {
                throw arguments.error("'\(text.escapedForDisplay)' is not an address to listen on; \(fault)")
            }
            guard !text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                throw arguments.error(
                    "'\(text.escapedForDisplay)' is a port without a host: --listen 127.0.0.1:\(text) is for this machine alone, "
                        + "--listen 0.0.0.0:\(text) for all networks")
            }
            guard let endpoint = Endpoint(text, defaultPort: TransferLink.defaultPort) else {
                throw arguments.error("'\(text.escapedForDisplay)' is not an address to listen on")
            }
            endpoints.append(endpoint)
        }
        let cluster = try ClusterFlags.options(arguments)
        let directory = ClusterFlags.folder(arguments) ?? arguments[ServeFlags.directory]
        var configuration = ServerConfiguration(directory: directory, endpoints: endpoints)
        configuration.cluster = cluster
        configuration.security = try Self.security(arguments, endpoints)
        let speaksHTTP = configuration.security.isEncrypted || arguments.isSet(ServeFlags.http.flag)
        configuration.http = speaksHTTP ? arguments[ServeFlags.http] : .off
        try ProxyFlags.apply(arguments, to: &configuration)
        configuration.metrics = try MetricsFlag.use(arguments, configuration.http)
        try Self.check(arguments, below: configuration.directory)
        configuration.classic = try ClassicFlags.listeners(arguments)
        configuration.isClassicBeyondThisMachine = arguments[ServeFlags.allowsInsecure]
        guard configuration.isClassicBeyondThisMachine || configuration.classic.allSatisfy(\.endpoint.mayBeLocal) else {
            throw arguments.error("--classic on an address that others can reach needs --allow-insecure")
        }
        access = try ServeAccess(arguments, directory: directory)
        for effect in ServeFlags.effects { try effect(arguments, on: &configuration) }
        configuration.loops = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        configuration.blockingThreads = max(4, 4 * configuration.loops)
        configuration.decoders = Gallery.decoders(processors: configuration.loops)
        if configuration.http == .off, configuration.plainHTTP.isEmpty, configuration.thumbnails == .on {
            // Only `push --verify-pictures` can ask for pictures then.
            configuration.thumbnails = .demand
        }
        configuration.isConfined = true
        configuration.tellsStatus = true
        configuration.agent = "transfer/\(transferVersion)"
        configuration.rereadFiles = Self.configurationFiles(arguments)
        self.configuration = configuration
        self.arguments = arguments
        logFormat = arguments[ServeFlags.logFormat]
        logLevel = arguments[ServeFlags.logLevel]
    }

    /// The configuration files that the server may read again. The server gets access to the file itself and not to its
    /// folder, which contains the user's key.
    private static func configurationFiles(_ arguments: ParsedArguments) -> [ServerConfiguration.RereadFile] {
        var files: [ServerConfiguration.RereadFile] = []
        if let named = arguments[Flag.config.text] { files.append(.init(named, isReplaceable: true)) }
        if let own = Environment.configurationFile { files.append(.init(own, isReplaceable: false)) }
        return files
    }

    /// Refuses a configuration file in the server's directory, which clients could change.
    private static func check(_ arguments: ParsedArguments, below directory: String) throws(UsageError) {
        for flag in arguments.command.flags {
            guard case .file(let place) = arguments.setting(of: flag)?.origin,
                CanonicalPath(place.path).isWithin(CanonicalPath(directory))
            else { continue }
            throw arguments.error(
                "'\(place.path.escapedForDisplay)' is in the directory that clients write to; move it")
        }
    }

    private static func security(
        _ arguments: ParsedArguments, _ endpoints: [Endpoint]
    ) throws(UsageError) -> ServerConfiguration.Security {
        let (certificate, key) = (arguments[ServeFlags.certificate], arguments[ServeFlags.key])
        let isAllowed = arguments[ServeFlags.allowsInsecure]
        guard !arguments[ServeFlags.isPlaintext] else {
            guard certificate == nil, key == nil else {
                throw arguments.error("--cert and --key are for encryption; drop them or --plaintext")
            }
            guard isAllowed || endpoints.allSatisfy(\.mayBeLocal) else {
                throw arguments.error("--plaintext on an address that others can reach needs --allow-insecure")
            }
            return .plaintext(beyondThisMachine: isAllowed)
        }
        let others = [ClassicFlags.listeners.flag, ProxyFlags.listeners.flag]
        guard !isAllowed || others.contains(where: arguments.isSet) else {
            throw arguments.error("--allow-insecure is for --plaintext, --classic and --http-plain")
        }
        switch (certificate, key) {
        case (let certificate?, let key?): return .certificate(certificate, key: key)
        case (nil, nil): return .identity
        default: throw arguments.error("--cert and --key must be given together")
        }
    }

    func run() async -> ExitCode {
        var configuration = configuration
        let share = max(0, raisedDescriptorLimit() - Self.ownDescriptors) / Self.descriptorShares
        configuration.filesAtOnce = min(configuration.filesAtOnce, max(1, share / configuration.blockingThreads))
        configuration.maximumMultiparts = min(configuration.maximumMultiparts, max(1, share / 2))
        // Idle connections must not use up the descriptors for uploads.
        configuration.maximumConnections = min(configuration.maximumConnections, max(1, 2 * share))
        let log = Log(format: logFormat, level: logLevel)
        do throws(ServerError) {
            let notifier = try Self.notifier()
            if let orders = Supervision.orders {
                configuration.lock = orders.lock
            } else {
                guard try takeLock(for: &configuration, notifier) else { return .success }
            }
            configuration.sockets += try sockets(log)
            if Supervision.orders != nil {
                configuration.classic = configuration.sockets.compactMap(\.use?.classic)
                configuration.plainHTTP = configuration.sockets.compactMap(\.use?.http)
            }
            if let orders = Supervision.orders { configuration.supervision = .init(restarts: orders.restarts) }
            access.configure(&configuration)
            let server = try Server(configuration, log: log)
            try await ServerLifetime(server, notifier, ServeReload(arguments, access)).run { access.printInvitation() }
            return .success
        } catch {
            StandardStream.error.write("transfer: \(error.message)\n")
            return .fault
        }
    }

    /// With `--wait-for-lock`, waits for the directory's lock and takes it.
    ///
    /// - Returns: false if a signal has stopped the wait.
    func takeLock(
        for configuration: inout ServerConfiguration, _ notifier: ServiceNotifier?
    ) throws(ServerError) -> Bool {
        guard arguments[ServeStorageFlags.waitsForLock] else { return true }
        guard !SocketActivation.isOffered else {
            throw ServerError(
                "--wait-for-lock cannot be used with sockets that a service manager hands over: clients "
                    + "would wait with the server.")
        }
        let wait = LockWait(
            configuration: configuration, log: Log(format: logFormat, level: logLevel), notifier: notifier)
        guard case .taken(let lock, let sockets) = try wait.run() else { return false }
        (configuration.lock, configuration.sockets) = (lock, sockets)
        return true
    }

    /// The sockets that a supervisor or a service manager has bound.
    private func sockets(_ log: Log) throws(ServerError) -> [ServerSocket] {
        guard let orders = Supervision.orders else { return try SocketActivation.take().map { ServerSocket($0) } }
        if let signal = orders.lastSignal {
            log.restarted(
                after: signal, restarts: orders.restarts, reports: CrashReports(of: configuration.directory).path)
        }
        do throws(SystemError) {
            var sockets: [ServerSocket] = []
            for listener in orders.listeners {
                let socket = try BoundSocket(inherited: listener.number)
                guard let mark = listener.mark else {
                    sockets.append(ServerSocket(socket))
                    continue
                }
                // If the configuration has changed since the supervisor bound this socket, the socket is left out; the
                // change needs a restart.
                guard let use = configuration.specialUses.first(where: { $0.mark == mark }) else { continue }
                sockets.append(ServerSocket(socket, for: use))
            }
            return sockets
        } catch {
            throw ServerError("The sockets of the supervisor cannot be used: \(error).")
        }
    }

    /// Connects to the service manager. An error ends the start at once, because a manager that receives no message
    /// would end the server later.
    static func notifier() throws(ServerError) -> ServiceNotifier? {
        if let orders = Supervision.orders {
            return orders.notifications.map {
                ServiceNotifier(relayedBy: $0, for: orders.supervisor, Environment.value(of:))
            }
        }
        do throws(SystemError) {
            return try ServiceNotifier(Environment.value(of:))
        } catch {
            throw ServerError("Cannot reach the service manager, which NOTIFY_SOCKET names: \(error.reason).")
        }
    }

    /// Raises the limit of descriptors to the hard limit. Every connection and open file takes one; the usual soft
    /// limit of 1,024 exists for select(2), which is not used here.
    ///
    /// - Returns: the new limit.
    private func raisedDescriptorLimit() -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return .max }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        return Int(clamping: setrlimit(resource, &limit) == 0 ? limit.rlim_max : before)
    }
}
