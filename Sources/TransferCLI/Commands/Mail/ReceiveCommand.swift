private import TransferClient
private import TransferModel

/// `transfer receive`: fetches the deliveries that wait for this user.
struct ReceiveCommand {
    /// Time between two drawings of progress: smooth, but not too much for a slow terminal.
    private static let refreshInterval = Duration.milliseconds(200)

    /// Seconds for which `--watch` retries a lost connection, unless `--retry-for` is given.
    private static let watchingPatience = 86_400.0

    private let access: FilesAccess
    private let directory: String
    private let target: String?
    private let options: ReceiveOptions
    private let acceptance: ReceiveFlags.Acceptance
    private let program: String?
    private let output: PushOutput

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.count <= 1 else { throw arguments.error("give one directory to store deliveries in") }
        if let place = arguments.operands.first, ServerPlace(place) != nil {
            throw arguments.error(
                "the operand is a local directory: name the server with --to, and a directory with a "
                    + "colon in its name as ./NAME"
            )
        }
        var options = ReceiveOptions()
        options.senders = try arguments.people(ReceiveFlags.from)
        options.watches = arguments[ReceiveFlags.watches]
        options.keeps = arguments[ReceiveFlags.keeps]
        options.takesHiddenNames = arguments[ReceiveFlags.takesHidden]
        options.takesExecution = arguments[ReceiveFlags.takesExecution]
        options.opens = !arguments[ReceiveFlags.staysSealed]
        acceptance = arguments[ReceiveFlags.accepts]
        target = arguments[ReceiveFlags.output]
        directory = arguments.operands.first ?? "."
        program = arguments[ReceiveFlags.program]
        output = PushOutput(arguments, json: ReceiveFlags.json, quiet: ClientFlags.quiet)
        if target != nil {
            guard !options.watches, acceptance != .none, arguments.operands.isEmpty else {
                throw arguments.error(
                    "--output takes one delivery, so it cannot be combined with DIR, --watch or --accept none")
            }
            guard target != "-" || !output.isJSON && program == nil else {
                throw arguments.error(
                    "--output - cannot be combined with --json or --exec")
            }
        }
        var effects = ReceiveFlags.choices
        if target != nil, !arguments.isSet(ClientFlags.conflict.flag) { effects.append(Self.failsOnConflict) }
        if options.watches, !arguments.isSet(ClientFlags.retryFor.flag) { effects.append(Self.isPatient) }
        var access = try FilesAccess(arguments, from: PeopleFlags.to, quiet: ClientFlags.quiet, effects)
        access.configuration.traffic = output.traffic
        self.access = access
        if acceptance == .none { options.choose = { _ in .decline } }
        if acceptance == .ask {
            guard let question = DeliveryQuestion() else {
                throw arguments.error("--accept ask needs a terminal")
            }
            self.question = question
        } else {
            question = nil
        }
        self.options = options
    }

    private let question: DeliveryQuestion?

    private static let failsOnConflict = FlagEffect<ClientConfiguration>(ClientFlags.conflict.flag) {
        $1.conflict = .fail
    }

    private static let isPatient = FlagEffect<ClientConfiguration>(ClientFlags.retryFor.flag) {
        $1.retryFor = watchingPatience
    }

    func run() async -> ExitCode {
        let folder = target.map { target in ReceivedOutput.folder(of: target).folder } ?? directory
        let reporter = ReceiveReporter(output, in: folder, program)
        do throws(TransferFailure) {
            let refreshing = output.progress != .none ? Task { await refresh(reporter) } : nil
            defer { refreshing?.cancel() }
            let client = try await access.client(reporter)
            if let target { return try await ReceivedOutput(client, options, question, reporter).put(target) }
            var options = options
            if let question { options.choose = { await question.ask($0, reporter) } }
            let events = client.receive(to: directory, options)
            Interruption.watch { events.cancel() }
            for try await event in events { await reporter.show(event, isLast: !events.areWaiting) }
            return await reporter.finish(nil)
        } catch {
            // With `--watch`, an interruption is the normal end.
            let isEnd = options.watches && error.reason == .cancelled
            return await reporter.finish(isEnd ? nil : error)
        }
    }

    private func refresh(_ reporter: ReceiveReporter) async {
        while !Task.isCancelled {
            await reporter.refresh()
            try? await Task.sleep(for: Self.refreshInterval)
        }
    }
}

extension ReceiveCommand: ProgramCommand {
    static let definition = Command(
        name: "receive", summary: "Fetch the deliveries that wait for this user.", operands: "[DIR]",
        description: [
            "Fetches every waiting delivery into DIR, or into the current directory. A file appears "
                + "under its name only when it is complete, verified and on disk. Only then does the server "
                + "receive a receipt signed with this user's key, and may remove the delivery.",
            "An existing file is kept, and the delivery is stored beside it. Names come from other "
                + "people: they cannot lead out of DIR or through a symbolic link, and a leading dot is "
                + "changed.",
            "A sealed delivery is opened with this user's key, and the sender's signature is checked. "
                + "The first key that a sender signs with is shown and remembered. What cannot be opened, or "
                + "is signed with another key, is not stored and stays on the server.",
            "After an interruption, the same command resumes a large delivery, and does not fetch or "
                + "store again what it has stored; the state for that is in the folder .transfer-parts.",
            PeopleFlags.aboutPeople,
        ],
        flags: PeopleFlags.all
            + [
                ReceiveFlags.from.flag, ReceiveFlags.watches.flag, ReceiveFlags.accepts.flag, ReceiveFlags.output.flag,
                ReceiveFlags.program.flag, ReceiveFlags.keeps.flag, ReceiveFlags.takesHidden.flag,
                ReceiveFlags.takesExecution.flag,
                ReceiveFlags.staysSealed.flag,
            ] + ReceiveFlags.choices.map(\.flag) + [ReceiveFlags.json.flag, ClientFlags.retryFor.flag]
            + SecurityFlags.all
            + [ClientFlags.quiet.flag, ClientFlags.progress.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "Fetch all deliveries", line: "transfer receive --to nas.local"),
            .init(
                caption: "Keep receiving from one person", line: "transfer receive inbox --from alice --watch"),
            .init(
                caption: "Run a program for every delivery",
                line: "transfer receive inbox --watch --exec ./sort-it --to nas.local"),
            .init(caption: "Print a text", line: "transfer receive --from alice -o -"),
        ],
        outcomes: [.init(.success, "all wanted deliveries were stored, if any")] + FilesFlags.failures,
        operandValue: .folder)
}
