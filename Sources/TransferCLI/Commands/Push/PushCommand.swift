private import Glibc
private import TransferClient
private import TransferIO
private import TransferProtocol
private import TransferReceipts
private import TransferSystem

/// `transfer push`: sends what the arguments name and prints what became of it.
struct PushCommand {
    /// Often enough for an eye, seldom enough for a slow terminal.
    private static let refreshInterval = Duration.milliseconds(200)

    private let server: ServerAddress
    private let uploads: [Upload]
    private let operands: Set<String>
    private let input: StandardInput
    private let configuration: ClientConfiguration
    private let access: PushAccess
    private let output: PushOutput
    private let receipts: ReceiptFile?
    /// Whether an unknown server may be asked about.
    private let mayAsk: Bool

    /// - Throws: `UsageError` for what cannot be pushed as it stands.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        let target = try PushTarget(arguments)
        server = target.server
        access = try PushAccess(arguments, target)
        input = StandardInput()
        uploads = try Self.uploads(arguments, input)
        operands = Set(arguments.operands)
        output = PushOutput(arguments)
        var configuration = ClientConfiguration()
        configuration.compression = arguments.choice("compress") ?? configuration.compression
        configuration.compressionLevel = try arguments.count("compress-level", in: 1...9)
        configuration.lanes = try Self.lanes(arguments)
        configuration.digest = arguments.choice("digest", as: DigestFunction.self) ?? configuration.digest
        configuration.conflict = arguments.choice("on-conflict", as: ConflictPolicy.self) ?? configuration.conflict
        configuration.retryFor = try arguments.duration("retry-for")
        configuration.agent = "transfer/\(transferVersion)"
        configuration.countsAhead = output.showsProgress
        receipts = try arguments.string("receipts").map { (path) throws(UsageError) in
            try Self.receipts(path, arguments)
        }
        configuration.wantsReceipts = receipts != nil
        mayAsk = !arguments.isSet("trust-new")
        self.configuration = configuration
    }

    func run() async -> ExitCode {
        let reporter = PushReporter(output, operands: operands, receipts: receipts)
        do throws(PushFailure) {
            var configuration = configuration
            try await access.complete(&configuration)
            let refreshing = output.showsProgress ? Task { await refresh(reporter) } : nil
            defer { refreshing?.cancel() }
            if mayAsk, let question = TrustQuestion(reporter) { configuration.ask(question) }
            let client = try TransferClient(server: server, configuration: configuration)
            let events = client.push(uploads)
            Interruption.watch { [input] in
                events.cancel()
                input.cancel()
            }
            for try await event in events { await reporter.show(event, isLast: !events.areWaiting) }
            return await reporter.finish(nil)
        } catch {
            return await reporter.finish(error)
        }
    }

    private func refresh(_ reporter: PushReporter) async {
        while !Task.isCancelled {
            await reporter.refresh()
            try? await Task.sleep(for: Self.refreshInterval)
        }
    }

    private static func receipts(_ path: String, _ arguments: ParsedArguments) throws(UsageError) -> ReceiptFile {
        do throws(SystemError) {
            return try ReceiptFile(path)
        } catch {
            throw arguments.error("cannot open '\(path.escapedForDisplay)' for receipts: \(error.reason)")
        }
    }

    private static func lanes(_ arguments: ParsedArguments) throws(UsageError) -> ClientConfiguration.Lanes {
        guard arguments.string("lanes") != "auto" else { return .auto }
        return .fixed(try arguments.count("lanes", in: 1...ClientConfiguration.mostLanes))
    }

    private static func uploads(_ arguments: ParsedArguments, _ input: StandardInput) throws(UsageError) -> [Upload] {
        let kind = arguments.choice("kind", as: ContentKind.self)
        let name = arguments.string("name")
        let text = arguments.string("text")
        let paths = arguments.operands
        guard !paths.isEmpty || text != nil else {
            throw arguments.error("nothing to push; name files or directories, or use --text or -")
        }
        guard name == nil || paths.count + (text == nil ? 0 : 1) == 1 else {
            throw arguments.error("--name is for a single upload")
        }
        var uploads: [Upload] = []
        for path in paths {
            guard path == "-" else {
                uploads.append(.path(path, name: name, kind: kind))
                continue
            }
            guard let name else { throw arguments.error("standard input needs a name; use --name") }
            uploads.append(.stream(input, name: name, kind: kind))
        }
        if let text { uploads.append(.bytes(Array(text.utf8), name: name ?? "text.txt", kind: kind ?? .text)) }
        return uploads
    }
}

extension ClientConfiguration {
    /// Has unknown servers asked about.
    mutating func ask(_ question: TrustQuestion) {
        guard case .tls(var trust) = security else { return }
        trust.firstContact = .ask(question.ask)
        security = .tls(trust)
    }
}
