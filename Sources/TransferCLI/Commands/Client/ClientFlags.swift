internal import TransferClient
private import TransferModel

/// What several commands let choose of how files travel. Defaults are the client's.
enum ClientFlags {
    static let usual = ClientConfiguration()

    /// A server, and a folder there.
    ///
    /// - Parameters:
    ///   - help: what the folder is for.
    ///   - details: what else can stand for a server.
    static func server(_ name: String, help: String, details: String) -> FlagKey<String, Never> {
        Flag(
            name: name, placeholder: "HOST[:PORT][/FOLDER]", help: help, details: details,
            environment: "TRANSFER_SERVER", sharedKey: "server", value: .server
        ).text(default: Commands.defaultAddress)
    }

    static let retryFor: FlagEffect<ClientConfiguration> = {
        let key = Flag(
            name: "retry-for", placeholder: "DURATION",
            help: "How long to try again after a lost connection before giving up.",
            details:
                "When it is given, the first connection is tried for that long as well, and once otherwise. A server that gives "
                + "signs of life and does not answer is given up after \(DurationNotation.text(usual.answerTimeout)), or after this "
                + "time where it is longer. " + DurationNotation.description
        ).duration(default: usual.retryFor)
        return FlagEffect(key.flag) { (arguments, configuration) throws(UsageError) in
            configuration.retryFor = try arguments[key]
            configuration.retriesFirstConnection = arguments.isSet(key.flag)
        }
    }()

    /// - Parameter what: what more than one connection is good for.
    static func lanes(_ what: String) -> FlagEffect<ClientConfiguration> {
        let flag = Flag(
            name: "lanes", placeholder: "N|auto",
            help: "Connections to use at most, 1 to \(ClientConfiguration.mostLanes).", details: what)
        let key = flag.text(default: "auto")
        return FlagEffect(key.flag) { (arguments, configuration) throws(UsageError) in
            let text = arguments[key]
            guard text != "auto" else { return }
            configuration.lanes = .fixed(try arguments.count(text, of: flag, in: 1...ClientConfiguration.mostLanes))
        }
    }

    static func compression(_ details: String) -> FlagEffect<ClientConfiguration> {
        Flag(name: "compress", placeholder: "METHOD", help: "Compress content on its way.", details: details)
            .choice(default: usual.compression).sets(\.compression)
    }

    /// Of what the server sends.
    static let serverCompression = compression(
        "What is stored is the same. The server decides when that pays: on a slow network, and only what gets smaller. auto "
            + "lets it use zlib or zstd, each of these only itself, and none nothing.")

    static let digest: FlagEffect<ClientConfiguration> = Flag(
        name: "digest", placeholder: "FUNCTION", help: "How both sides make sure that the content is the same.",
        details:
            "xxh128 is fast and finds every accident; sha256 also withstands an attacker. The default is sha256 with --for, "
            + "because recipients sign for nothing else, and xxh128 otherwise."
    ).choice(of: DigestFunction.self).sets(\.digest)

    static let conflict: FlagEffect<ClientConfiguration> = Flag(
        name: "on-conflict", placeholder: "POLICY", help: "What to do when the name is taken by other content.",
        details: "keep-both stores beside it under a numbered name, overwrite replaces it, skip leaves it and "
            + "counts as success, fail leaves it and counts as a failure."
    ).choice(default: usual.conflict).sets(\.conflict)

    /// - Parameter help: in which direction.
    static func bandwidth(_ help: String) -> FlagEffect<ClientConfiguration> {
        let key = Flag(
            name: "bandwidth", placeholder: "RATE", help: help,
            details: "\(SizeNotation.text(ClientConfiguration.leastBandwidth)) at least. \(SizeNotation.description) "
                + "Progress and the summary count in powers of 1000: 4MB is shown as 4.0 MB/s, and 4M as 4.2 MB/s.",
            value: .size
        ).size
        return FlagEffect(key.flag) { (arguments, configuration) throws(UsageError) in
            guard let rate = try arguments[key] else { return }
            let least = ClientConfiguration.leastBandwidth
            guard rate >= least else {
                throw arguments.error("\(key.flag.spelling) must be \(SizeNotation.text(least)) or more")
            }
            configuration.bandwidth = rate
        }
    }

    static let null = Flag(
        name: "null", short: "0", help: "Paths in --files-from and --failed-to end with a NUL byte, not with a line."
    ).isOn

    // MARK: Output

    static let quiet = Flag(name: "quiet", short: "q", help: "Show no progress; errors are still printed.").isOn

    static let progress = Flag(
        name: "progress", placeholder: "STYLE", help: "How to show progress on standard error.",
        details:
            "bar draws it on a terminal, plain prints a line now and then, json prints objects for programs, none "
            + "nothing. auto is bar on a terminal and none elsewhere."
    ).choice(default: ProgressStyle.auto)

    static let colour = Flag(
        name: "color", placeholder: "WHEN", help: "Whether results have colours.",
        details: "auto is on a terminal, unless NO_COLOR is set or TERM is dumb."
    ).choice(default: ColourChoice.auto)
}
