private import TransferClient
private import TransferModel

/// `transfer inbox`: prints what waits for this user.
struct InboxCommand {
    private let access: FilesAccess
    private let isJSON: Bool
    private let isQuiet: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        (isJSON, isQuiet) = (arguments[Self.json], arguments[FilesFlags.quiet])
        access = try PeopleFlags.access(arguments)
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            let deliveries = try await access.client().inbox()
            Interruption.watch { deliveries.cancel() }
            var printer = LinePrinter()
            var rows: [[String]] = []
            for try await delivery in deliveries {
                if isJSON { printer.print(delivery.json(isSent: false).text) } else { rows.append(delivery.row) }
            }
            if rows.isEmpty, !isJSON, !isQuiet { StandardStream.error.write("nothing waits\n") }
            StandardStream.output.write(TextTable.lines(rows))
            return printer.finish()
        } catch {
            return error.tell(isJSON: isJSON)
        }
    }
}

extension Delivery {
    fileprivate var row: [String] {
        [
            personForDisplay, ByteFormat.size(shownSize), Self.age(queued), shownKind.name, nameOrSeal,
        ]
    }
}

extension InboxCommand: ProgramCommand {
    private static let json = FilesFlags.json("delivery")

    static let definition = Command(
        name: "inbox", summary: "Show what waits for this user.", operands: "[SERVER]",
        description: [
            "Prints a line for every delivery that waits on the server: who has sent it, its size, how long ago, what kind of "
                + "content it is, and its name. 'transfer receive' fetches them.",
            "What is sealed, nobody but its recipients can read: size, kind and name are then what its sender has signed. Where "
                + "that cannot be opened, or is signed by somebody else than its sender, the line says so.",
            PeopleFlags.aboutPeople,
        ],
        flags: PeopleFlags.all + [json.flag] + PeopleFlags.common,
        examples: [.init(caption: "See what waits", line: "transfer inbox --to nas.local")],
        outcomes: [.init(.success, "all that waits is printed, also when that is nothing")] + FilesFlags.failures,
        places: .server)
}
