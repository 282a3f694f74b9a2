import TransferHTTP
import TransferReceipts

/// Receipts in answers.
enum HTTPReceipt {
    /// Bytes of a receipt that a field may have: those of long paths with many escapes have more than clients read in a field, and
    /// are to be asked for.
    private static let longest = 6 << 10

    /// As a client says that it wants one (RFC 7240).
    private static let preference = "transfer-receipt"

    static func isWanted(_ fields: HTTPFields) -> Bool {
        fields.list("prefer").contains { HTTPCharacter.areSame($0.utf8, preference) }
    }

    static func fields(_ receipt: SignedReceipt) -> [(String, String)] {
        let line = receipt.jsonBytes
        guard line.count <= longest else { return [] }
        return [("Transfer-Receipt", ":\(Base64Text.encode(line)):"), ("Preference-Applied", preference)]
    }
}
