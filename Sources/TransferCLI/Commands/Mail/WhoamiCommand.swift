private import TransferAccess
private import TransferClient
private import TransferKeys
private import TransferModel
private import TransferSealing
private import TransferSystem

/// `transfer whoami`: prints who this user is on a server.
struct WhoamiCommand {
    private let access: FilesAccess
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        isJSON = arguments[Self.json]
        access = try PeopleFlags.access(arguments)
    }

    func run() async -> ExitCode {
        let client: TransferClient
        do throws(TransferFailure) {
            client = try await access.client()
            let person = try await client.whoami()
            return show(client, person)
        } catch {
            // If the server has no name for this user, its operator needs the key, so it is printed.
            if case .unsupported = error.reason { _ = show(nil, nil) }
            return error.tell(isJSON: isJSON)
        }
    }

    private func show(_ client: TransferClient?, _ person: Person?) -> ExitCode {
        let key = ConfigurationFolder.path.flatMap { try? ClientKey(in: $0).find()?.key.fingerprint }
        let recipient = client?.sealing?.sealing.recipient
        let object: JSONLine = [
            "schema": .string(JSONSchema.identity), "name": person.map { .string($0.name) } ?? .null,
            "fingerprint": key.map { .string("\($0)") } ?? .null, "server": .string(access.serverName),
            "mail": .bool(person != nil),
            "sealingFingerprint": recipient.map { .string("\($0.fingerprint)") } ?? .null,
            "ageRecipient": recipient.map { .string($0.text) } ?? .null,
        ]
        let rows: [[String]] = [
            ["name", person?.name.escapedForDisplay ?? "none on this server"],
            ["key", key.map { "\($0)" } ?? "none"],
            ["sealing", recipient.map { "\($0.fingerprint)" } ?? "none"],
            ["age", recipient?.text ?? "none"],
            ["server", access.serverName.escapedForDisplay],
        ]
        var printer = LinePrinter()
        if isJSON { printer.print(object.text) } else { StandardStream.output.write(TextTable.lines(rows)) }
        return printer.finish()
    }
}

extension WhoamiCommand: ProgramCommand {
    private static let json = Flag(name: "json", help: "Print one JSON object.").isOn

    static let definition = Command(
        name: "whoami", summary: "Show who this user is on a server.", operands: "[SERVER]",
        description: [
            "Prints the name that the server has for this user, the fingerprint of the user's key, and "
                + "the server. Others send to that name with 'transfer push --for NAME'. If the server has no "
                + "name for this user, the fingerprint is still printed; the server's operator needs the line "
                + "of 'transfer key'.",
            "Also prints the key that others seal with for this user (see --seal in 'transfer help "
                + "push'): its fingerprint, and the key as age(1) takes it with -r. It is generated when it is "
                + "first needed, in sealing.key beside the other key, and published on the server, signed, if "
                + "the server does not have it yet.",
            PeopleFlags.aboutPeople,
        ],
        flags: PeopleFlags.all + [json.flag] + PeopleFlags.common,
        examples: [.init(caption: "Ask a server", line: "transfer whoami --to nas.local")],
        outcomes: [.init(.success, "the server knows this user by name")] + FilesFlags.failures, places: .server)
}
