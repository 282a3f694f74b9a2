import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts

/// Answers `/.transfer/receipt/ID`, with the client's ID of an upload.
struct ReceiptHandler: HTTPHandler {
    let context: HTTPContext

    func give(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        let text = target.path.utf8.dropFirst("\(RelativePath.reservedName)/receipt/".utf8.count)
        guard let id = UploadID(hexadecimal: Substring(text)),
            let receipt = context.uploads.intake.receipt(of: context.caller.inner(id))
        else { throw HTTPRefusal(404, .notFound, "There is no receipt for this upload.") }
        return .reply(
            HTTPReply(
                200, [("Cache-Control", "private, no-store")], receipt.jsonBytes + [UInt8(ascii: "\n")],
                type: "application/json"))
    }
}

/// Receipts in fields and bodies of answers.
enum HTTPReceipt {
    /// Most bytes of a receipt in a field. Receipts of long paths with many escapes are larger than clients read in a field; clients have
    /// to request those.
    private static let longest = 6 << 10

    /// The preference with which a client requests a receipt (RFC 7240).
    private static let preference = "transfer-receipt"

    static func isWanted(_ fields: HTTPFields) -> Bool {
        fields.list("prefer").contains { HTTPCharacter.areSame($0.utf8, preference) }
    }

    static func fields(_ receipt: SignedReceipt) -> [(String, String)] {
        let line = receipt.jsonBytes
        guard line.count <= longest else { return [] }
        return [("Transfer-Receipt", ":\(Base64Text.encode(line)):"), applied]
    }

    /// The field that says that the preference was applied.
    static var applied: (String, String) { ("Preference-Applied", preference) }

    /// The member of a file's object if a form has several files: the line of a receipts file, as a string.
    static func member(_ receipt: SignedReceipt?) -> JSONValue {
        receipt.map { .string(String(decoding: $0.jsonBytes, as: UTF8.self)) } ?? .null
    }
}
