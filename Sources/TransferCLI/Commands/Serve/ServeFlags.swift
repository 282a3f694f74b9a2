internal import TransferModel
private import TransferProtocol
internal import TransferServer
private import TransferPorts
private import TransferStore

/// The flags of `transfer serve`. Defaults are those of `ServerConfiguration`, except where the program needs others.
enum ServeFlags {
    private static let usual = ServerConfiguration(directory: "", endpoints: [])

    static let all =
        [
            directory.flag, .config, listen.flag, durability.flag, isAlone.flag, logFormat.flag, logLevel.flag,
            certificate.flag, key.flag, http.flag, ProxyFlags.listeners.flag, ProxyFlags.trusted.flag,
            ProxyFlags.balancers.flag, MetricsFlag.place.flag, isPlaintext.flag, allowsInsecure.flag, isOpen.flag,
            advertised.flag,
            thumbnails.flag,
            ClassicFlags.listeners.flag, ClassicFlags.folder.flag,
        ] + ClusterFlags.all + DiscoveryFlags.all + MailFlags.all + ServeTrashFlags.all + ServeStorageFlags.all
        + limits.map(\.flag) + [
            .insecurePermissions, .help,
        ]

    /// Flags that only set a value of the configuration.
    static let effects =
        [durability.sets(\.durability), thumbnails.sets(\.thumbnails), DiscoveryFlags.effect] + MailFlags.effects
        + ServeTrashFlags.effects + ServeStorageFlags.effects + limits

    // MARK: Where and how

    /// - Parameter help: the sentence of the help, which differs between commands.
    static func directory(_ help: String) -> FlagKey<String, Never> {
        Flag(
            name: "dir", placeholder: "DIR", help: help, environment: "TRANSFER_DIR", sharedKey: "dir", value: .folder
        ).text(default: "storage")
    }

    static let directory = directory("The directory to store uploads in.")

    static let listen = Flag(
        name: "listen", placeholder: "ADDRESS", help: "The address to listen on: HOST:PORT, [IPv6]:PORT or unix:PATH.",
        details: "May be given several times."
    ).texts(default: Commands.defaultAddress)

    private static let durability = Flag(
        name: "durability", placeholder: "MODE", help: "What an acknowledgement guarantees.",
        details:
            "With commit, the upload is on disk and survives a crash of the machine. With none, nothing "
            + "is synced: this is faster on slow disks, but a crash can lose or truncate acknowledged "
            + "uploads; results say so."
    ).choice(default: usual.durability)

    static let isAlone = Flag(
        name: "no-supervise", help: "Serve without a supervising process.",
        details:
            "By default a small process holds the listening sockets and restarts the server if a signal "
            + "kills it: clients wait for it and continue."
    ).isOn

    static let logFormat = Flag(
        name: "log-format", placeholder: "FORMAT", help: "Log as text for people or as one JSON object per line.",
        isChangeable: true
    ).choice(default: Log.Format.text)

    static let logLevel = Flag(
        name: "log-level", placeholder: "LEVEL", help: "Log events of this level and above.", isChangeable: true
    ).choice(default: LogEvent.Level.info)

    // MARK: Security and access

    static let certificate = Flag(
        name: "cert", placeholder: "FILE",
        help: "Use the certificate in FILE, which clients check as any TLS client does.",
        details: "In PEM, followed by intermediate certificates. Needs --key.", value: .file
    ).text

    static let key = Flag(
        name: "key", placeholder: "FILE", help: "The key of --cert, in PEM and without a passphrase.", value: .file
    ).text

    /// The default with TLS; without TLS, HTTP is off by default.
    private static let usualHTTP = HTTPUse.on

    static let http = Flag(
        name: "http", placeholder: "MODE", help: "Whether to serve HTTP, too: on, off, or only.",
        details:
            "On the same addresses, for curl, browsers and other programs. Clients authenticate with a "
            + "token, as a bearer token or as a password, or with a key. With --plaintext the default is "
            + "off."
    ).choice(default: usualHTTP)

    private static let thumbnails = Flag(
        name: "thumbnails", placeholder: "WHEN", help: "When to make small pictures for browsers: on, demand, or off.",
        details:
            "Pictures are decoded in processes of their own that can do nothing else. With demand, a "
            + "thumbnail is made when a client wants to see it; with on, also in the background, once one "
            + "was seen. They are kept in DIR/.transfer/thumbs.sqlite, which may be removed. With off, "
            + "push --verify-pictures cannot check anything."
    ).choice(default: ThumbnailUse.on)

    static let isPlaintext = Flag(
        name: "plaintext", help: "Serve without encryption.",
        details:
            "Anyone who can reach the server may push. Allowed on loopback addresses and Unix sockets; "
            + "elsewhere only with --allow-insecure."
    ).isOn

    static let allowsInsecure = Flag(
        name: "allow-insecure", help: "Serve without encryption also on addresses that other machines can reach.",
        details: "Anyone on the network in between can then read and change everything."
    ).isOn

    static let isOpen = Flag(
        name: "open", help: "Let anyone push who can reach the server.",
        details: "Limits of known keys and tokens still apply."
    ).isOn

    static let advertised = AdvertisedAddress.key(
        help: "The address at which clients reach the server, for the command that authorises one.",
        details: "By default, this machine's address on its network, and the port that the server listens on.")

    // MARK: Limits

    static let quota = Flag(
        name: "quota", placeholder: "SIZE", help: "Limit the total size of the directory.",
        details:
            "Counts the sizes of all files in it, as ls shows them, and uploads from their beginning on.",
        isChangeable: true
    ).size

    static let minimumFree = Flag(
        name: "min-free", placeholder: "SIZE", help: "Refuse uploads that would leave less free space on the disk.",
        isChangeable: true
    ).size

    private static let limits: [FlagEffect<ServerConfiguration>] = [
        Flag(
            name: "max-upload", placeholder: "SIZE", help: "Refuse uploads larger than SIZE.",
            details: "By default, only the disk space is the limit. " + SizeNotation.description, isChangeable: true
        ).size.sets(\.maximumUpload),
        quota.sets(\.space.quota),
        minimumFree.sets(\.space.minimumFree),
        Flag(
            name: "expire-unfinished", placeholder: "DURATION",
            help: "Remove unfinished uploads that have not grown for DURATION.",
            details: "Clients are informed of this. Until then the same push resumes the upload.", isChangeable: true
        ).interval(default: usual.keepUnfinished).sets(\.keepUnfinished),
        Flag(
            name: "max-connections", placeholder: "N", help: "Limit the number of connections to N.",
            details: "Connections that have not finished the handshake are closed in favour of new ones. N is at "
                + "most half of the descriptors that the process may have."
        ).count(default: usual.maximumConnections).sets(\.maximumConnections),
        Flag(
            name: "max-per-address", placeholder: "N",
            help: "Limit the connections from one IPv4 address or IPv6 /64 to N.",
            details: "Further ones are refused. This machine's own addresses are not counted.", isChangeable: true
        ).count(default: usual.maximumPerNetwork).sets(\.maximumPerNetwork),
        Flag(
            name: "silence-timeout", placeholder: "DURATION",
            help: "Drop a connection that has been silent for DURATION.",
            details: DurationNotation.description, isChangeable: true
        ).interval(default: usual.timeouts.silence).sets { configuration, silence in
            configuration.timeouts.silence = silence
            // Within the timeout, a client must have the chance to send several heartbeats.
            let heartbeat = configuration.timeouts.heartbeat
            configuration.timeouts.heartbeat = min(heartbeat, .seconds(silence.seconds / 4))
        },
        Flag(
            name: "idle-timeout", placeholder: "DURATION",
            help: "Close a connection that is alive, but has had no upload for DURATION.", isChangeable: true
        ).interval(default: usual.timeouts.idle).sets(\.timeouts.idle),
        Flag(
            name: "handshake-timeout", placeholder: "DURATION",
            help: "Drop a new connection that has not finished the handshake within DURATION.", isChangeable: true
        ).interval(default: usual.timeouts.handshake).sets(\.timeouts.handshake),
        Flag(
            name: "min-rate", placeholder: "SIZE",
            help: "Drop a connection whose upload is slower than SIZE bytes per second.",
            details: "0 disables this.", isChangeable: true
        ).size(default: 1 << 10).sets(\.timeouts.minimumRate),
        Flag(
            name: "drain-delay", placeholder: "DURATION",
            help: "How long the server still accepts connections when it is asked to stop.",
            details:
                "Meanwhile /readyz answers 503, so that a load balancer sends new connections to other "
                + "servers, and HTTP connections end behind their next answer. A second signal ends the delay."
        ).interval(default: usual.drainDelay, isPositive: false).sets(\.drainDelay),
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
