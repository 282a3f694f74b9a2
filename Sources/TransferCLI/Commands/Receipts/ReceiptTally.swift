private import TransferKeys
internal import TransferModel
internal import TransferReceipts

/// Counts the results of `receipt verify`.
struct ReceiptTally {
    var good = 0
    var bad = 0
    /// The number of receipts of each signer.
    private var signers: [Signer: Int] = [:]

    /// The signer of a receipt: a server, or a recipient who is identified by the name in the receipt.
    private struct Signer: Hashable {
        let key: PublicKey
        /// The bytes of a recipient's name; nil for a server. Bytes are compared, because names that look alike can
        /// differ.
        let name: [UInt8]?

        /// Orders servers before recipients, for the output.
        func isBefore(_ other: Signer) -> Bool {
            guard (name == nil) == (other.name == nil) else { return name == nil }
            guard name == other.name else { return (name ?? []).lexicographicallyPrecedes(other.name ?? []) }
            return key.hexadecimal < other.key.hexadecimal
        }
    }

    /// Counts a receipt with a verified signature for its signer.
    mutating func count(_ receipt: KeptReceipt) {
        let signer =
            switch receipt {
            case .upload(let signed): Signer(key: signed.receipt.server, name: nil)
            case .delivery(let signed): Signer(key: signed.receipt.recipient, name: Array(signed.receipt.to.utf8))
            }
        signers[signer, default: 0] += 1
    }

    private var sortedSigners: [(key: String, name: String?, count: Int)] {
        signers.sorted { $0.key.isBefore($1.key) }.map { signer, count in
            (signer.key.fingerprint, signer.name.map { String(decoding: $0, as: UTF8.self) }, count)
        }
    }

    func json(isContentCompared: Bool) -> JSONLine {
        let servers: [JSONValue] = sortedSigners.filter { $0.name == nil }.map { key, _, count in
            .object(["key": .string(key), "receipts": .integer(count)])
        }
        let recipients: [JSONValue] = sortedSigners.compactMap { key, name, count in
            name.map { .object(["name": .string($0), "key": .string(key), "receipts": .integer(count)]) }
        }
        return [
            "schema": .string(JSONSchema.receiptCheck), "good": .integer(good), "bad": .integer(bad),
            "contentCompared": .bool(isContentCompared), "servers": .array(servers), "recipients": .array(recipients),
        ]
    }

    func text(isKeyKnown: Bool, isContentCompared: Bool) -> String {
        var text = ""
        if !isKeyKnown {
            for (key, name, count) in sortedSigners {
                text += "signed by \(key)\(name.map { " as \($0.escapedForDisplay)" } ?? ""): \(count)\n"
            }
        }
        guard good + bad > 0 else { return "there is no receipt\n" }
        let claim = isContentCompared ? "good, and the content is as they say" : "good"
        return text + "\(good) \(claim)" + (bad > 0 ? ", \(bad) bad" : "") + "\n"
    }
}
