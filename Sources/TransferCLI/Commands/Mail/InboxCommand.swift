private import TransferClient
private import TransferModel

/// `transfer inbox`: prints the deliveries that wait for this user.
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
            if rows.isEmpty, !isJSON, !isQuiet { StandardStream.error.write("no deliveries are waiting\n") }
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
        name: "inbox", summary: "List the deliveries that wait for this user.", operands: "[SERVER]",
        description: [
            "Prints a line for each waiting delivery: its sender, size, age, kind of content and name. "
                + "'transfer receive' fetches them.",
            "Only its recipients can read a sealed delivery; its size, kind and name are those that the "
                + "sender has signed. If it cannot be opened, or was signed by someone else than its sender, "
                + "the line says so.",
            PeopleFlags.aboutPeople,
        ],
        flags: PeopleFlags.all + [json.flag] + PeopleFlags.common,
        examples: [.init(caption: "See what is waiting", line: "transfer inbox --to nas.local")],
        outcomes: [.init(.success, "all waiting deliveries were printed, if any")] + FilesFlags.failures,
        places: .server)
}
