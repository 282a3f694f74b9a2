private import TransferKeys
private import TransferModel
private import TransferReceipts
private import TransferSystem

/// `transfer receipt show`: prints the content of receipts.
struct ShowReceiptsCommand {
    private let operand: String
    private let isJSON: Bool

    /// The expected operand, for messages.
    static let operand = "one file of receipts, or - for standard input"

    /// - Throws: `UsageError` unless there is one file.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        operand = try arguments.onlyOperand(Self.operand)
        isJSON = arguments[Self.json]
    }

    func run() -> ExitCode {
        var isGood = true
        do throws(SystemError) {
            var lines = try ReceiptLines(operand)
            while let line = try lines.next() {
                switch line.receipt {
                case .success(let receipt):
                    let text = isJSON ? receipt.json + "\n" : receipt.description
                    if let error = StandardStream.output.write(text) { throw error }
                case .failure(let fault):
                    isGood = false
                    StandardStream.error.write("\(lines.name):\(line.number): \(fault.phrase)\n")
                }
            }
        } catch {
            StandardStream.error.write("transfer: \(operand.escapedForDisplay): \(error.reason)\n")
            return .uploadsFailed
        }
        return isGood ? .success : .uploadsFailed
    }
}

extension KeptReceipt {
    fileprivate var json: String {
        switch self {
        case .upload(let signed): signed.json
        case .delivery(let signed): signed.json
        }
    }

    /// The receipt as text, followed by an empty line.
    fileprivate var description: String {
        let (title, rows) =
            switch self {
            case .upload(let signed): ("receipt \(signed.receipt.number)", signed.rows)
            case .delivery(let signed): (signed.receipt.sentence, signed.rows)
            }
        let lines = rows.map { "  \($0)" + String(repeating: " ", count: 8 - $0.utf8.count) + $1 + "\n" }
        return title + "\n" + lines.joined() + "\n"
    }
}

extension SignedReceipt {
    fileprivate var rows: [(String, String)] {
        [
            ("path", receipt.path.description), ("size", "\(receipt.size) bytes"), ("digest", "\(receipt.digest)"),
            ("kind", receipt.kind.name), ("result", receipt.result.name), ("time", "\(receipt.time)"),
            ("sender", receipt.sender.escapedForDisplay), ("upload", "\(receipt.uploadID)"),
            ("server", receipt.server.fingerprint), ("signed", "as \(index + 1) of \(treeSize)"),
        ]
    }
}

extension SignedDeliveryReceipt {
    fileprivate var rows: [(String, String)] {
        let server = receipt.server.raw == Bytes32() ? "without a key" : receipt.server.fingerprint
        return [
            ("size", "\(receipt.size) bytes"), ("digest", "\(receipt.digest)"), ("kind", receipt.kind.name),
            ("time", "\(receipt.time)"), ("upload", "\(receipt.delivery)"), ("server", server),
            ("signed", "by \(receipt.recipient.fingerprint), as \(index + 1) of \(treeSize)"),
        ]
    }
}

extension DeliveryReceipt {
    fileprivate var sentence: String {
        "\(to.escapedForDisplay) has received \(name) from \(from.escapedForDisplay)"
    }
}

extension ShowReceiptsCommand: ProgramCommand {
    private static let json = Flag(
        name: "json", help: "Print the receipts as they are, and leave out other lines."
    ).isOn

    static let definition = Command(
        name: "receipt show", summary: "Print the content of receipts.", operands: "FILE",
        description: [
            "Reads receipts, one per line, and prints each in readable form: those of servers for what "
                + "they stored, and those of recipients for what was delivered to them. - is standard input. "
                + "Signatures are not checked; 'transfer receipt verify' does that."
        ],
        flags: [json.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "Read receipts", line: "transfer receipt show receipts.jsonl"),
            .init(
                caption: "Pass the receipts to another program",
                line: "transfer receipt show --json receipts.jsonl | jq .receipt"),
        ],
        outcomes: [
            .init(.success, "every line is a receipt"),
            .init(.uploadsFailed, "a line is not a receipt, or the file could not be read"), .init(.usage),
        ], operandValue: .file)
}
