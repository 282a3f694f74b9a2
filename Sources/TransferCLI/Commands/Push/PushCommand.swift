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
    private let uploads: PushUploads
    private let canGoOn: Bool
    private let input: StandardInput
    private let configuration: ClientConfiguration
    private let access: PushAccess
    private let output: PushOutput
    private let receipts: ReceiptFile?
    private let failedList: FailedList?
    /// Whether an unknown server may be asked about.
    private let mayAsk: Bool
    private let isDryRun: Bool
    private let deletesSources: Bool
    private let stopsAtFailure: Bool

    /// - Throws: `UsageError` for what cannot be pushed as it stands.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        let target = try PushTarget(arguments)
        server = target.server
        access = try PushAccess(arguments, target)
        input = StandardInput()
        uploads = try PushUploads(arguments, input)
        canGoOn = !arguments.operands.contains("-")
        output = PushOutput(arguments)
        var configuration = try ClientConfiguration(arguments)
        configuration.countsAhead = output.progress != .none
        isDryRun = arguments.isSet("dry-run")
        deletesSources = arguments.isSet("delete-source")
        stopsAtFailure = arguments.isSet("fail-fast")
        receipts = try isDryRun ? nil : Self.receipts(arguments)
        failedList = try isDryRun ? nil : Self.failedList(arguments, uploads, target.server)
        configuration.wantsReceipts = receipts != nil
        mayAsk = !arguments.isSet("trust-new")
        self.configuration = configuration
    }

    func run() async -> ExitCode {
        guard !isDryRun else { return PushPlan(uploads, server, configuration.selection, output).run() }
        let reporter = PushReporter(output, canGoOn: canGoOn, receipts: receipts, failedList: failedList)
        do throws(PushFailure) {
            var configuration = configuration
            try await access.complete(&configuration)
            let refreshing = output.progress != .none ? Task { await refresh(reporter) } : nil
            defer { refreshing?.cancel() }
            if mayAsk, let question = TrustQuestion(reporter) { configuration.ask(question) }
            await reporter.show(unusable: uploads.unusable)
            let client = try TransferClient(server: server, configuration: configuration)
            let events = client.push(uploads)
            Interruption.watch { [input] in
                events.cancel()
                input.cancel()
            }
            for try await event in events {
                let event = await described(event, client)
                let removal = await removal(event, client, reporter)
                await reporter.show(event, isLast: !events.areWaiting, removal)
                if stopsAtFailure, await reporter.hasFailures { events.cancel() }
            }
            return await reporter.finish(nil)
        } catch {
            let plan = UploadPlan(uploads, folder: server.folder, selection: configuration.selection)
            await reporter.list(rest: plan)
            return await reporter.finish(error, stopsAtFailure: stopsAtFailure)
        }
    }

    /// A picture that the server had already was not looked at.
    private func described(_ event: PushEvent, _ client: TransferClient) async -> PushEvent {
        guard case .finished(var report) = event, report.picture == nil, report.kind == .picture,
            report.result.isSuccess
        else { return event }
        report.picture = await client.picture(of: report)
        return .finished(report)
    }

    /// Removes the source of what is stored, if that is wanted, when its receipt is kept.
    private func removal(
        _ event: PushEvent, _ client: TransferClient, _ reporter: PushReporter
    ) async -> SourceRemoval? {
        guard deletesSources, case .finished(let report) = event, SourceRemoval.concerns(report) else { return nil }
        if report.receipt != nil, await !reporter.keep(report) { return .kept("Its receipt could not be kept.") }
        return await SourceRemoval.remove(report, client)
    }

    private func refresh(_ reporter: PushReporter) async {
        while !Task.isCancelled {
            await reporter.refresh()
            try? await Task.sleep(for: Self.refreshInterval)
        }
    }

    private static func receipts(_ arguments: ParsedArguments) throws(UsageError) -> ReceiptFile? {
        guard let path = arguments.string("receipts") else { return nil }
        do throws(SystemError) {
            return try ReceiptFile(path)
        } catch {
            throw arguments.error("cannot open '\(path.escapedForDisplay)' for receipts: \(error.reason)")
        }
    }

    private static func failedList(
        _ arguments: ParsedArguments, _ uploads: PushUploads, _ server: ServerAddress
    ) throws(UsageError) -> FailedList? {
        guard let path = arguments.string("failed-to") else { return nil }
        let end = arguments.isSet("null") ? 0 : UInt8(ascii: "\n")
        let form = arguments.isSet("manifest") ? FailedList.Form.manifest(uploads.kinds) : .paths(end: end)
        do throws(SystemError) {
            return try FailedList(path, form, folder: server.folder)
        } catch {
            throw arguments.error("cannot open '\(path.escapedForDisplay)' for what fails: \(error.reason)")
        }
    }
}

extension ClientConfiguration {
    /// What the flags choose, without what says who is let in.
    fileprivate init(_ arguments: ParsedArguments) throws(UsageError) {
        self.init()
        compression = arguments.choice("compress") ?? compression
        compressionLevel = try arguments.count("compress-level", in: 1...9)
        if arguments.string("lanes") != "auto" {
            lanes = .fixed(try arguments.count("lanes", in: 1...ClientConfiguration.mostLanes))
        }
        digest = arguments.choice("digest", as: DigestFunction.self) ?? digest
        conflict = arguments.choice("on-conflict", as: ConflictPolicy.self) ?? conflict
        retryFor = try arguments.duration("retry-for")
        retries = try arguments.count("retry", in: 0...1000)
        bandwidth = try Self.bandwidth(arguments)
        selection = try Selection(arguments)
        agent = "transfer/\(transferVersion)"
    }

    private static func bandwidth(_ arguments: ParsedArguments) throws(UsageError) -> UInt64? {
        guard arguments.isSet("bandwidth") else { return nil }
        let rate = try arguments.size("bandwidth")
        guard rate >= leastBandwidth else { throw arguments.error("--bandwidth must be 16K or more") }
        return rate
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
