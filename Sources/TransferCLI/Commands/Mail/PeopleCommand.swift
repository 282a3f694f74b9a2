private import TransferClient
private import TransferKeys
private import TransferModel
private import TransferSealing

/// `transfer people`: prints who has a mailbox on a server.
struct PeopleCommand {
    private let access: FilesAccess
    private let isJSON: Bool
    private let isNames: Bool
    /// The change of keys with `--trust` or `--forget`; nil to print people.
    private let trust: PeopleTrust?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        (isJSON, isNames) = (arguments[Self.json], arguments[Self.names])
        guard !isJSON || !isNames else { throw arguments.error("--names and --json exclude each other") }
        trust = try PeopleTrust(arguments)
        guard trust == nil || !isJSON && !isNames else {
            throw arguments.error("--trust and --forget cannot be combined with --names or --json")
        }
        access = try PeopleFlags.access(arguments)
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            // With `--names`, a shell completes names and cannot answer questions.
            let client = try await access.client(asks: !isNames)
            if let trust { return try await trust.run(client) }
            let answer = try await client.ask(isAboutItself: false)
            let people = answer.persons
            let known = (try? client.sealing?.people.entries()) ?? []
            let own = client.sealing.map { KeyFingerprint(of: $0.key.key) }
            var printer = LinePrinter()
            if isJSON {
                for person in people { printer.print(person.json(person.keys(known, answer.server, own)).text) }
            } else if isNames {
                for person in people where person.acceptsFromClient { printer.print(person.name.escapedForDisplay) }
            } else {
                printer.print(
                    String(TextTable.lines(people.map { $0.row($0.keys(known, answer.server, own)) }).dropLast()))
            }
            return printer.finish()
        } catch {
            return error.tell(isJSON: isJSON)
        }
    }
}

/// The fingerprints of a person's keys, which users compare.
private struct PersonKey {
    /// The key that signed the sealing key. That person sees it with `transfer whoami`.
    let identity: KeyFingerprint
    let sealing: KeyFingerprint
    /// Whether these keys are in the list of known people.
    let isTrusted: Bool
}

extension Person {
    /// The keys for which content can be sealed for this person.
    ///
    /// - Parameters:
    ///   - known: the list of known people.
    ///   - server: the fingerprint of the server's key.
    ///   - own: this user's key, which always counts as known.
    fileprivate func keys(_ known: [KnownPeople.Entry], _ server: KeyFingerprint?, _ own: KeyFingerprint?)
        -> [PersonKey]
    {
        let pinned = known.filter { $0.server == server && $0.name.hasSameBytes(as: name) }
        return certificates.map { certificate in
            let identity = KeyFingerprint(of: certificate.owner)
            let isTrusted =
                identity == own
                || pinned.contains { $0.identity == identity && $0.sealing?.fingerprint == certificate.fingerprint }
            return PersonKey(identity: identity, sealing: certificate.fingerprint, isTrusted: isTrusted)
        }
    }

    fileprivate func row(_ keys: [PersonKey]) -> [String] {
        let notes =
            [
                isClient ? "this user" : nil, acceptsFromClient || isClient ? nil : "accepts nothing from this user",
                isUnproven ? "without a key" : nil,
            ] + keys.map { "seals with \($0.identity) (\($0.isTrusted ? "known" : "not seen before"))" }
        return [
            name.escapedForDisplay, isConnected ? "connected" : "away",
            notes.compactMap(\.self).joined(separator: ", "),
        ]
    }

    /// The object of `--json`; every member is always present.
    fileprivate func json(_ keys: [PersonKey]) -> JSONLine {
        [
            "schema": .string(JSONSchema.person), "name": .string(name), "connected": .bool(isConnected),
            "accepts": .bool(acceptsFromClient), "self": .bool(isClient), "authenticated": .bool(!isUnproven),
            "keys": .array(
                keys.map { key in
                    .object([
                        "fingerprint": .string("\(key.identity)"), "sealingFingerprint": .string("\(key.sealing)"),
                        "trusted": .bool(key.isTrusted),
                    ])
                }),
        ]
    }
}

extension PeopleCommand: ProgramCommand {
    private static let json = FilesFlags.json("person")

    private static let names = Flag(
        name: "names", help: "Print only the names of those to whom this user can send."
    ).isOn

    static let definition = Command(
        name: "people", summary: "List the people to whom this user can send.", operands: "[SERVER]",
        description: [
            "Prints a line for each person with a mailbox on the server: the name, and whether a client "
                + "of that name is connected now. What is sent to a person who is away waits on the server.",
            "If a person has published a key for sealing, the line has the fingerprint of their own key, "
                + "and whether it is known here. The first keys of a person that 'transfer push --seal' sees "
                + "are remembered in known_people beside this user's key, and nothing is sealed for other keys "
                + "of that person.",
            PeopleFlags.aboutPeople,
        ],
        flags: PeopleFlags.all + [json.flag, names.flag, PeopleTrust.trusted.flag, PeopleTrust.forgotten.flag]
            + PeopleFlags.common,
        examples: [
            .init(caption: "See who is on a server", line: "transfer people --to nas.local"),
            .init(
                caption: "Also seal for another machine of bob", line: "transfer people --trust bob --to nas.local"
            ),
        ],
        outcomes: [.init(.success, "the people were printed, or the change was made")] + FilesFlags.failures,
        places: .server)
}
