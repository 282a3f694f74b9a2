private import TransferClient
private import TransferModel
private import TransferProtocol
private import TransferReceipts
private import TransferSystem

/// `transfer push`: sends files and prints the results.
struct PushCommand {
    /// Time between two drawings of progress: smooth, but not too much for a slow terminal.
    private static let refreshInterval = Duration.milliseconds(200)

    private let server: ServerAddress
    private let uploads: PushUploads
    private let canGoOn: Bool
    private let input: StandardInput
    private let configuration: ClientConfiguration
    /// Encryption and credentials; nil with `--classic`.
    private let access: PushAccess?
    private let output: PushOutput
    private let printing: PushPrinting
    private let receipts: ReceiptFile?
    private let failedList: FailedList?
    /// Whether the user may be asked to trust an unknown server; false with `--trust-new`.
    private let mayAsk: Bool
    private let isDryRun: Bool
    private let deletesSources: Bool
    private let verifiesPictures: Bool
    private let stopsAtFailure: Bool
    /// Seconds to wait for the recipients; nil without `--wait-delivered`.
    private let waits: Double?

    /// - Throws: `UsageError` for flags and operands that cannot be combined.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        var configuration = try ClientConfiguration(arguments)
        let classic = try PushClassic(arguments, configuration)
        if let classic {
            classic.apply(to: &configuration)
            (server, access) = (classic.server, nil)
        } else {
            let target = try PushTarget(PushFlags.to, arguments)
            server = target.server
            configuration.nameAdvice = target.nameAdvice
            try PushHTTP.check(server, arguments, &configuration)
            access = try PushAccess(arguments, target, isQuiet: arguments[ClientFlags.quiet])
        }
        input = StandardInput(of: arguments.operands)
        uploads = try PushUploads(arguments, input)
        // A classic server does not say what it has, so running the command again would send everything again.
        canGoOn = input.operand == nil && classic == nil && server.web == nil
        output = PushOutput(arguments, json: PushFlags.json, quiet: ClientFlags.quiet)
        printing = PushPrinting(arguments)
        (configuration.countsAhead, configuration.traffic) = (output.progress != .none, output.traffic)
        isDryRun = arguments[PushFlags.isDryRun]
        deletesSources = arguments[PushFlags.deletesSources]
        verifiesPictures = arguments[PushFlags.verifiesPictures]
        configuration.givesNamesBack = deletesSources
        stopsAtFailure = arguments[PushFlags.stopsAtFailure]
        if classic == nil { configuration.recipients = try Self.recipients(arguments) }
        waits = try arguments[PushFlags.waits]
        guard waits == nil || !configuration.recipients.isEmpty else {
            throw arguments.error("--wait-delivered needs --for")
        }
        configuration.seals = arguments[PushFlags.seals]
        guard !configuration.seals || !configuration.recipients.isEmpty else {
            throw arguments.error("--seal needs --for")
        }
        guard !configuration.seals || !arguments[SecurityFlags.plaintext] else {
            throw arguments.error("--seal needs this user's key, which is not used with --plaintext")
        }
        // Opened last, because this creates files: every check that can refuse the command comes before.
        receipts = try isDryRun ? nil : Self.receipts(arguments)
        failedList = try isDryRun ? nil : Self.failedList(arguments, uploads, server)
        configuration.wantsReceipts = receipts != nil
        // Folders are compared as a whole only if no result is needed for each file.
        configuration.asksByFolder =
            !configuration.archives && !output.isJSON && receipts == nil && failedList == nil && !deletesSources
            && !verifiesPictures
        mayAsk = !arguments[SecurityFlags.trustsNew]
        self.configuration = configuration
    }

    func run() async -> ExitCode {
        guard !isDryRun else { return PushPlan(uploads, server, configuration, output).run() }
        let reporter = PushReporter(
            output, printing, canGoOn: canGoOn, receipts: receipts, failedList: failedList,
            server: server.web == nil ? server.server : nil)
        var leftOut: () -> LeftOut = { LeftOut() }
        do throws(TransferFailure) {
            var configuration = configuration
            try await access?.complete(&configuration)
            if configuration.seals { try SealingAccess.complete(&configuration) }
            let refreshing = output.progress != .none ? Task { await refresh(reporter) } : nil
            defer { refreshing?.cancel() }
            if mayAsk, let question = TrustQuestion(reporter) { configuration.ask(question) }
            await reporter.show(unusable: uploads.unusable)
            let client = try TransferClient(server: server, configuration: configuration)
            let events = client.push(uploads)
            leftOut = { events.leftOut }
            var wait = waits.map { DeliveryWait($0, for: configuration.recipients, output) }
            let sources = deletesSources ? SourceRemovals(client, reporter) : nil
            let checks =
                verifiesPictures
                ? PictureChecks(client) { [stopsAtFailure] report in
                    await reporter.take(report, sources)
                    guard stopsAtFailure else { return true }
                    return await !reporter.hasFailures
                } : nil
            Interruption.watch { [input] in
                events.cancel()
                input.cancel()
                if let checks { Task { await checks.cancel() } }
            }
            try await show(events, client, reporter, sources, checks) { wait?.add($0) }
            await reporter.count(leftOut: leftOut())
            let code = await reporter.finish(nil)
            guard let wait, code == .success || code == .uploadsFailed else { return code }
            let outcome = await wait.run(client)
            return code == .success ? outcome : code
        } catch {
            let plan = UploadPlan(
                uploads, folder: server.folder, selection: configuration.selection, archives: configuration.archives)
            await reporter.list(rest: plan)
            await reporter.count(leftOut: leftOut())
            return await reporter.finish(error, stopsAtFailure: stopsAtFailure)
        }
    }

    /// Adds the dimensions of a picture that was not sent, because the server already had it.
    private func described(_ event: PushEvent, _ client: TransferClient) async -> PushEvent {
        guard case .finished(var report) = event, report.picture == nil, report.kind == .picture,
            report.result.isSuccess
        else { return event }
        report.picture = await client.picture(of: report)
        return .finished(report)
    }

    /// Prints events as they arrive, and removes sources with `--delete-source`.
    ///
    /// - Parameters:
    ///   - sources: removes the sources; nil to keep them.
    ///   - checks: has the pictures decoded before they are reported; nil to report them at once.
    ///   - finished: called with the report of each finished upload.
    private func show(
        _ events: PushEvents, _ client: TransferClient, _ reporter: PushReporter, _ sources: SourceRemovals?,
        _ checks: PictureChecks?, finished: (UploadReport) -> Void
    ) async throws(TransferFailure) {
        do throws(TransferFailure) {
            for try await event in events {
                let event = await described(event, client)
                if case .finished(let report) = event { finished(report) }
                if let checks, case .finished(let report) = event, PictureChecks.concerns(report) {
                    await checks.add(report)
                } else if let sources, case .finished(let report) = event, SourceRemoval.concerns(report) {
                    await sources.add(report)
                } else {
                    await reporter.show(event, isLast: !events.areWaiting)
                }
                if stopsAtFailure, await reporter.hasFailures { events.cancel() }
            }
        } catch {
            await checks?.cancel()
            await checks?.settle()
            await sources?.giveUp()
            throw error
        }
        await checks?.settle()
        await sources?.settle()
    }

    private func refresh(_ reporter: PushReporter) async {
        while !Task.isCancelled {
            await reporter.refresh()
            try? await Task.sleep(for: Self.refreshInterval)
        }
    }

    private static func receipts(_ arguments: ParsedArguments) throws(UsageError) -> ReceiptFile? {
        guard let path = arguments[PushFlags.receipts] else { return nil }
        do throws(SystemError) {
            return try ReceiptFile(path)
        } catch {
            throw arguments.error("cannot open '\(path.escapedForDisplay)' for receipts: \(error.reason)")
        }
    }

    /// - Throws: `UsageError` for too many recipients, and for flags that cannot be combined with `--for`.
    private static func recipients(_ arguments: ParsedArguments) throws(UsageError) -> [String] {
        let names = try arguments.people(PushClassic.recipient)
        guard !names.isEmpty else { return [] }
        guard names.reduce(0, { $0 + 1 + $1.utf8.count }) <= ClientConfiguration.mostRecipientBytes else {
            throw arguments.error(
                "--for names too many people; all names together may have "
                    + "\(ClientConfiguration.mostRecipientBytes) bytes")
        }
        guard !arguments.isSet(PushFlags.receipts) else {
            throw arguments.error(
                "--receipts cannot be combined with --for; 'transfer sent --receipts FILE' keeps the "
                    + "receipts of recipients")
        }
        guard !arguments.isSet(ArchiveFlag.push.flag) else {
            throw arguments.error("--archive cannot be combined with --for: a mailbox takes only files")
        }
        guard !arguments[PushFlags.deletesSources] else {
            throw arguments.error(
                "--delete-source cannot be combined with --for: until a recipient has received the file, "
                    + "only the server has it")
        }
        return names
    }

    private static func failedList(
        _ arguments: ParsedArguments, _ uploads: PushUploads, _ server: ServerAddress
    ) throws(UsageError) -> FailedList? {
        let form = arguments.isSet(PushFlags.manifest) ? FailedList.Form.manifest(uploads.kinds) : .paths(arguments)
        return try FailedList(PushFlags.failedTo, arguments, form, folder: server.folder)
    }
}

extension ClientConfiguration {
    /// The configuration that the flags choose, without encryption and credentials.
    fileprivate init(_ arguments: ParsedArguments) throws(UsageError) {
        self.init()
        for effect in PushFlags.handling + [ArchiveFlag.push] { try effect(arguments, on: &self) }
        selection = try SelectionFlags.push.selection(arguments)
        agent = "transfer/\(transferVersion)"
    }
}

extension ClientConfiguration {
    /// Asks the user whether to trust unknown servers.
    mutating func ask(_ question: TrustQuestion) {
        guard case .tls(var trust) = security else { return }
        trust.firstContact = .ask(question.ask)
        security = .tls(trust)
    }
}
