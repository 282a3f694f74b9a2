internal import TransferModel
private import TransferProtocol
internal import TransferServer
private import TransferPorts
private import TransferStore

/// The flags of `transfer serve`. Where the program doesn't want something else than a server by itself, defaults are the
/// server's.
enum ServeFlags {
    private static let usual = ServerConfiguration(directory: "", endpoints: [])

    static let all =
        [
            directory.flag, .config, listen.flag, durability.flag, isAlone.flag, logFormat.flag, logLevel.flag,
            certificate.flag, key.flag, http.flag, ProxyFlags.listeners.flag, ProxyFlags.trusted.flag,
            MetricsFlag.place.flag, isPlaintext.flag, allowsInsecure.flag, isOpen.flag, advertised.flag,
            ClassicFlags.listeners.flag, ClassicFlags.folder.flag,
        ] + DiscoveryFlags.all + MailFlags.all + ServeTrashFlags.all + ServeStorageFlags.all + limits.map(\.flag) + [
            .insecurePermissions, .help,
        ]

    /// What the server does by its configuration alone.
    static let effects =
        [durability.sets(\.durability), DiscoveryFlags.effect] + MailFlags.effects + ServeTrashFlags.effects
        + ServeStorageFlags.effects + limits

    // MARK: Where and how

    /// - Parameter help: what the directory is to the command.
    static func directory(_ help: String) -> FlagKey<String, Never> {
        Flag(
            name: "dir", placeholder: "DIR", help: help, environment: "TRANSFER_DIR", sharedKey: "dir", value: .folder
        ).text(default: "storage")
    }

    static let directory = directory("The directory to store uploads in.")

    static let listen = Flag(
        name: "listen", placeholder: "ADDRESS", help: "Where to listen: HOST:PORT, [IPv6]:PORT or unix:PATH.",
        details: "May be given several times."
    ).texts(default: Commands.defaultAddress)

    private static let durability = Flag(
        name: "durability", placeholder: "MODE", help: "What has happened to an upload when it is acknowledged.",
        details:
            "With commit, it is on disk and survives a crash of the machine. With none, nothing is synced: faster on "
            + "slow disks, and a crash can take acknowledged uploads or cut them; results then say so."
    ).choice(default: usual.durability)

    static let isAlone = Flag(
        name: "no-supervise", help: "Serve in this process, and end when something ends it.",
        details:
            "Otherwise a small process holds the listening sockets and starts another server behind them when a signal "
            + "ends the one that serves: clients wait for it and go on."
    ).isOn

    static let logFormat = Flag(
        name: "log-format", placeholder: "FORMAT", help: "Log as text for people or as one JSON object a line.",
        isChangeable: true
    ).choice(default: Log.Format.text)

    static let logLevel = Flag(
        name: "log-level", placeholder: "LEVEL", help: "Log this and everything graver.", isChangeable: true
    ).choice(default: LogEvent.Level.info)

    // MARK: Security and access

    static let certificate = Flag(
        name: "cert", placeholder: "FILE",
        help: "Show the certificate in FILE, which clients check as any TLS client does.",
        details: "In PEM, followed by those between it and a root. Needs --key.", value: .file
    ).text

    static let key = Flag(
        name: "key", placeholder: "FILE", help: "The key of --cert, in PEM and without a passphrase.", value: .file
    ).text

    /// Where there is TLS, and nobody says anything else.
    private static let usualHTTP = HTTPUse.on

    static let http = Flag(
        name: "http", placeholder: "MODE", help: "Whether to speak HTTP, too: on, off, or only.",
        details:
            "On the same addresses: curl, browsers and other programs put and get files there. Clients show a token, as a bearer's "
            + "or as a password, or a key. With --plaintext it is off unless it is given."
    ).choice(default: usualHTTP)

    static let isPlaintext = Flag(
        name: "plaintext", help: "Talk without encryption.",
        details:
            "Everybody who reaches the server may push. On loopback addresses and Unix sockets; elsewhere only with --allow-insecure."
    ).isOn

    static let allowsInsecure = Flag(
        name: "allow-insecure", help: "Talk without encryption also where others can listen in.",
        details: "Who can reach the network between can then read and change everything."
    ).isOn

    static let isOpen = Flag(
        name: "open", help: "Let everybody push who reaches the server.",
        details: "Keys and tokens that it knows still have their bounds."
    ).isOn

    static let advertised = AdvertisedAddress.key(
        help: "The address under which clients reach the server, for the line that lets one in.",
        details: "Without it, the address that this machine uses on its network, and the port it listens on.")

    // MARK: Limits

    static let quota = Flag(
        name: "quota", placeholder: "SIZE", help: "Store at most so much below the directory.",
        details:
            "Counted are the sizes of all files in it, as ls shows them, and of uploads from their beginning on.",
        isChangeable: true
    ).size

    static let minimumFree = Flag(
        name: "min-free", placeholder: "SIZE", help: "Refuse uploads that would leave less room on the disk.",
        isChangeable: true
    ).size

    private static let limits: [FlagEffect<ServerConfiguration>] = [
        Flag(
            name: "max-upload", placeholder: "SIZE", help: "Refuse uploads that are larger.",
            details: "Without it only the space on disk is the limit. " + SizeNotation.description, isChangeable: true
        ).size.sets(\.maximumUpload),
        quota.sets(\.space.quota),
        minimumFree.sets(\.space.minimumFree),
        Flag(
            name: "expire-unfinished", placeholder: "DURATION",
            help: "Remove what has arrived of an unfinished upload when nothing was added to it for so long.",
            details: "Clients are told. Until then the same push goes on where it was interrupted.", isChangeable: true
        ).interval(default: usual.keepUnfinished).sets(\.keepUnfinished),
        Flag(
            name: "max-connections", placeholder: "N", help: "Serve at most so many connections at a time.",
            details: "Those who have not introduced themselves give way to newcomers. "
                + "Half of the descriptors that the process may have is the most."
        ).count(default: usual.maximumConnections).sets(\.maximumConnections),
        Flag(
            name: "max-per-address", placeholder: "N",
            help: "Serve at most so many connections from one IPv4 address or IPv6 /64 at a time.",
            details: "More are turned away. This machine's own addresses are not counted.", isChangeable: true
        ).count(default: usual.maximumPerNetwork).sets(\.maximumPerNetwork),
        Flag(
            name: "silence-timeout", placeholder: "DURATION",
            help: "Drop a connection when nothing at all was heard of it for so long.",
            details: DurationNotation.description, isChangeable: true
        ).interval(default: usual.timeouts.silence).sets { configuration, silence in
            configuration.timeouts.silence = silence
            // Whoever must be heard has to speak several times meanwhile.
            let heartbeat = configuration.timeouts.heartbeat
            configuration.timeouts.heartbeat = min(heartbeat, .seconds(silence.seconds / 4))
        },
        Flag(
            name: "idle-timeout", placeholder: "DURATION",
            help: "Close a connection that is alive but has had no upload for so long.", isChangeable: true
        ).interval(default: usual.timeouts.idle).sets(\.timeouts.idle),
        Flag(
            name: "handshake-timeout", placeholder: "DURATION",
            help: "Drop a new connection that has not introduced itself for so long.", isChangeable: true
        ).interval(default: usual.timeouts.handshake).sets(\.timeouts.handshake),
        Flag(
            name: "min-rate", placeholder: "SIZE", help: "Drop a connection whose upload is slower, in bytes a second.",
            details: "0 turns this off.", isChangeable: true
        ).size(default: 1 << 10).sets(\.timeouts.minimumRate),
        Flag(
            name: "drain-timeout", placeholder: "DURATION",
            help: "How long running uploads may take to finish when the server stops.", isChangeable: true
        ).interval(default: usual.drain, isPositive: false).sets(\.drain),
    ]
}

extension Log.Format: FlagChoice {
    static var allCases: [Log.Format] { [.text, .json] }

    var flagValue: String {
        switch self {
        case .text: "text"
        case .json: "json"
        }
    }
}

extension LogEvent.Level: FlagChoice {
    var flagValue: String { name }
}
