internal import TransferClient
private import TransferModel

/// Flags about connections and transfers that several commands have. Defaults are those of `ClientConfiguration`.
enum ClientFlags {
    static let usual = ClientConfiguration()

    /// A flag whose value is a server, optionally with a folder on it.
    ///
    /// - Parameters:
    ///   - help: the sentence of the help, which says what the folder is for.
    ///   - details: the sentences of the help about other forms of the value.
    static func server(_ name: String, help: String, details: String) -> FlagKey<String, Never> {
        Flag(
            name: name, placeholder: "HOST[:PORT][/FOLDER]", help: help, details: details,
            environment: "TRANSFER_SERVER", sharedKey: "server", value: .server
        ).text(default: Commands.defaultAddress)
    }

    static let retryFor: FlagEffect<ClientConfiguration> = {
        let key = Flag(
            name: "retry-for", placeholder: "DURATION",
            help: "How long to retry after a lost connection.",
            details:
                "If given, the first connection is retried for that long, too; otherwise it is tried "
                + "once. A server that keeps the connection alive but does not answer is given up after "
                + "\(DurationNotation.text(usual.answerTimeout)), or after DURATION if that is longer. "
                + DurationNotation.description
        ).duration(default: usual.retryFor)
        return FlagEffect(key.flag) { (arguments, configuration) throws(UsageError) in
            configuration.retryFor = try arguments[key]
            configuration.retriesFirstConnection = arguments.isSet(key.flag)
        }
    }()

    /// - Parameter what: details for the help, which say what several connections do.
    static func lanes(_ what: String) -> FlagEffect<ClientConfiguration> {
        let flag = Flag(
            name: "lanes", placeholder: "N|auto",
            help: "Use at most N connections, 1 to \(ClientConfiguration.mostLanes).", details: what)
        let key = flag.text(default: "auto")
        return FlagEffect(key.flag) { (arguments, configuration) throws(UsageError) in
            let text = arguments[key]
            guard text != "auto" else { return }
            configuration.lanes = .fixed(try arguments.count(text, of: flag, in: 1...ClientConfiguration.mostLanes))
        }
    }

    static func compression(_ details: String) -> FlagEffect<ClientConfiguration> {
        Flag(name: "compress", placeholder: "METHOD", help: "Compress content in transit.", details: details)
            .choice(default: usual.compression).sets(\.compression)
    }

    /// Compression of what the server sends.
    static let serverCompression = compression(
        "Does not change what is stored. The server compresses when it helps: on a slow network, and "
            + "only content that gets smaller. auto allows zlib and zstd, zlib and zstd allow only themselves, "
            + "none disables compression.")

    static let digest: FlagEffect<ClientConfiguration> = Flag(
        name: "digest", placeholder: "FUNCTION", help: "Hash function to verify content with.",
        details:
            "xxh128 is fast and detects every accidental change; sha256 also resists an attacker. The "
            + "default is sha256 with --for, because recipients sign nothing else, and xxh128 otherwise."
    ).choice(of: DigestFunction.self).sets(\.digest)

    static let conflict: FlagEffect<ClientConfiguration> = Flag(
        name: "on-conflict", placeholder: "POLICY", help: "What to do if the name is taken by different content.",
        details: "keep-both stores the new file under a numbered name, overwrite replaces the old file, skip "
            + "keeps it and counts as success, fail keeps it and counts as a failure."
    ).choice(default: usual.conflict).sets(\.conflict)

    /// - Parameter help: the sentence of the help, which names the direction.
    static func bandwidth(_ help: String) -> FlagEffect<ClientConfiguration> {
        let key = Flag(
            name: "bandwidth", placeholder: "RATE", help: help,
            details: "At least \(SizeNotation.text(ClientConfiguration.leastBandwidth)). "
                + "\(SizeNotation.description) Progress and the summary count in powers of 1000: 4MB is shown "
                + "as 4.0 MB/s, and 4M as 4.2 MB/s.",
            value: .size
        ).size
        return FlagEffect(key.flag) { (arguments, configuration) throws(UsageError) in
            guard let rate = try arguments[key] else { return }
            let least = ClientConfiguration.leastBandwidth
            guard rate >= least else {
                throw arguments.error("\(key.flag.spelling) must be at least \(SizeNotation.text(least))")
            }
            configuration.bandwidth = rate
        }
    }

    static let null = Flag(
        name: "null", short: "0",
        help: "End paths in --files-from and --failed-to with a NUL byte instead of a line feed."
    ).isOn

    // MARK: Output

    static let quiet = Flag(name: "quiet", short: "q", help: "Print only errors, and the objects of --json.").isOn

    static let progress = Flag(
        name: "progress", placeholder: "STYLE", help: "How to show progress on standard error.",
        details:
            "bar draws on a terminal, plain prints a line now and then, json prints JSON objects, none "
            + "shows nothing. auto is bar on a terminal and none elsewhere."
    ).choice(default: ProgressStyle.auto)

    static let colour = Flag(
        name: "color", placeholder: "WHEN", help: "When to colour results.",
        details: "auto colours them on a terminal, unless NO_COLOR is set or TERM is dumb."
    ).choice(default: ColourChoice.auto)
}
