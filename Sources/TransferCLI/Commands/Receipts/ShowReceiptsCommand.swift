private import TransferKeys
private import TransferModel
private import TransferReceipts
private import TransferSystem

/// `transfer receipt show`: prints what receipts say.
struct ShowReceiptsCommand {
    private let operand: String
    private let isJSON: Bool

    /// - Throws: `UsageError` unless there is one file.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        operand = try arguments.receiptFile
        isJSON = arguments.isSet("json")
    }

    func run() -> ExitCode {
        var isGood = true
        do throws(SystemError) {
            var lines = try ReceiptLines(operand)
            while let line = try lines.next() {
                switch line.receipt {
                case .success(let signed):
                    let text = isJSON ? signed.json + "\n" : signed.description
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

extension ParsedArguments {
    /// The one operand.
    var receiptFile: String {
        get throws(UsageError) {
            guard operands.count == 1 else { throw error("give one file of receipts, or - for standard input") }
            return operands[0]
        }
    }
}

extension SignedReceipt {
    /// Some lines for people, and an empty one.
    fileprivate var description: String {
        let rows = [
            ("path", receipt.path.description), ("size", "\(receipt.size) bytes"), ("digest", "\(receipt.digest)"),
            ("kind", receipt.kind.name), ("result", receipt.result.name), ("time", "\(receipt.time)"),
            ("sender", receipt.sender.escapedForDisplay), ("upload", "\(receipt.uploadID)"),
            ("server", receipt.server.fingerprint), ("signed", "as \(index + 1) of \(treeSize)"),
        ]
        let lines = rows.map { "  \($0)" + String(repeating: " ", count: 8 - $0.utf8.count) + $1 + "\n" }
        return "receipt \(receipt.number)\n" + lines.joined() + "\n"
    }
}
