private import TransferClient
private import TransferModel

/// `transfer people`: prints who has a mailbox on a server.
struct PeopleCommand {
    private let access: FilesAccess
    private let isJSON: Bool
    private let isNames: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        (isJSON, isNames) = (arguments[Self.json], arguments[Self.names])
        guard !isJSON || !isNames else { throw arguments.error("--names and --json exclude each other") }
        access = try PeopleFlags.access(arguments)
    }

    func run() async -> ExitCode {
        do throws(PushFailure) {
            // A shell that completes names must not be asked about a server.
            let people = try await isNames ? access.client(asks: false).people() : access.client().people()
            var printer = LinePrinter()
            if isJSON {
                for person in people { printer.print(person.json.text) }
            } else if isNames {
                for person in people where person.takesFromClient { printer.print(person.name.escapedForDisplay) }
            } else {
                printer.print(String(TextTable.lines(people.map(\.row)).dropLast()))
            }
            return printer.finish()
        } catch {
            return error.tell()
        }
    }
}

extension Person {
    fileprivate var row: [String] {
        let notes = [
            isClient ? "this user" : nil, takesFromClient || isClient ? nil : "takes nothing from this user",
            isUnproven ? "without a key" : nil,
        ]
        return [
            name.escapedForDisplay, isHere ? "here" : "away", notes.compactMap(\.self).joined(separator: ", "),
        ]
    }

    /// The object of `--json`; every key is always there.
    fileprivate var json: JSONLine {
        [
            "schema": .string(JSONSchema.person), "name": .string(name), "here": .bool(isHere),
            "takes": .bool(takesFromClient), "self": .bool(isClient), "proven": .bool(!isUnproven),
        ]
    }
}

extension PeopleCommand: ProgramCommand {
    private static let json = FilesFlags.json("person")

    private static let names = Flag(
        name: "names", help: "Print the names of those to whom this user may send, and nothing else."
    ).isOn

    static let definition = Command(
        name: "people", summary: "Show who can be sent something.",
        description: [
            "Prints a line for everybody who has a mailbox on the server: the name, and whether somebody of that name is "
                + "connected now. What is sent to somebody who is away waits on the server.",
            PeopleFlags.aboutPeople,
        ],
        flags: PeopleFlags.all + [json.flag, names.flag] + PeopleFlags.common,
        examples: [.init(caption: "See who is on a server", line: "transfer people --to nas.local")],
        outcomes: [.init(.success, "everybody is printed")] + FilesFlags.failures)
}
