private import TransferClient
private import TransferKeys
private import TransferModel
private import TransferReceipts
private import TransferSystem

/// `transfer sent`: prints the state of the deliveries that this user has sent.
struct SentCommand {
    private let access: FilesAccess
    private let isJSON: Bool
    private let isQuiet: Bool
    private let receipts: String?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        (isJSON, isQuiet) = (arguments[Self.json], arguments[FilesFlags.quiet])
        receipts = arguments[Self.receipts]
        access = try PeopleFlags.access(arguments)
    }

    func run() async -> ExitCode {
        do throws(TransferFailure) {
            let deliveries = try await access.client().sent(wantsReceipts: true)
            Interruption.watch { deliveries.cancel() }
            var printer = LinePrinter()
            var (rows, lines): ([[String]], [[UInt8]]) = ([], [])
            for try await delivery in deliveries {
                let receipt = verified(delivery)
                let signer = receipt?.receipt.recipient
                if isJSON {
                    printer.print(delivery.json(isSent: true, signer: signer).text)
                } else {
                    rows.append(delivery.row(signer))
                }
                if receipts != nil, let receipt { lines.append(receipt.jsonBytes) }
            }
            if rows.isEmpty, !isJSON, !isQuiet { StandardStream.error.write("nothing was sent\n") }
            StandardStream.output.write(TextTable.lines(rows))
            let code = printer.finish()
            return keep(lines) ? code : .uploadsFailed
        } catch {
            return error.tell(isJSON: isJSON)
        }
    }

    /// The valid receipt of a delivery. If the delivery has an invalid receipt, prints a message and returns nil.
    private func verified(_ delivery: Delivery) -> SignedDeliveryReceipt? {
        do throws(ReceiptFault) {
            return try delivery.verifiedReceipt()
        } catch {
            let name = delivery.shownName.escapedForDisplay
            StandardStream.error.write(
                "transfer: the receipt of \(name) is not valid: \(error.phrase.escapedForDisplay)\n")
            return nil
        }
    }

    /// - Returns: whether all receipts were written.
    private func keep(_ lines: [[UInt8]]) -> Bool {
        guard let receipts else { return true }
        do throws(SystemError) {
            let count = try DeliveryReceiptFile(receipts).append(lines)
            if !isQuiet { StandardStream.error.write("\(count) new receipt\(count == 1 ? "" : "s")\n") }
            return true
        } catch {
            StandardStream.error.write(
                "transfer: cannot write the receipts to '\(receipts.escapedForDisplay)': \(error.reason)\n")
            return false
        }
    }
}

extension Delivery {
    fileprivate func row(_ signer: PublicKey?) -> [String] {
        [
            person.escapedForDisplay, state.name, Self.age(changed), ByteFormat.size(shownSize), nameOrSeal,
            signer.map { "signed by \($0.fingerprint)" } ?? "",
        ]
    }
}

extension SentCommand: ProgramCommand {
    private static let json = FilesFlags.json("delivery")

    private static let receipts = Flag(
        name: "receipts", placeholder: "FILE",
        help: "Append the receipts of recipients that are not yet in FILE to it.",
        details:
            "One JSON object per line, signed with the recipient's key; on disk when the command ends. "
            + "'transfer receipt verify' checks them.", value: .file
    ).text

    static let definition = Command(
        name: "sent", summary: "Show the state of what was sent to others.", operands: "[SERVER]",
        description: [
            "Prints a line for every recipient of what was sent with 'transfer push --for': the "
                + "recipient, the state and its age, the size and the name. The states are: queued, waiting on "
                + "the server; fetched, sent to the recipient, who has not confirmed it yet; delivered, stored "
                + "durably by the recipient, who has signed that; declined by the recipient; expired, not "
                + "fetched in time.",
            PeopleFlags.aboutPeople,
        ],
        flags: PeopleFlags.all + [receipts.flag, json.flag] + PeopleFlags.common,
        examples: [
            .init(caption: "See what has arrived", line: "transfer sent --to nas.local"),
            .init(
                caption: "Keep the receipts of the recipients",
                line: "transfer sent --receipts delivered.jsonl --to nas.local"),
        ],
        outcomes: [.init(.success, "all deliveries were printed, in whatever state")] + FilesFlags.failures,
        places: .server)
}
