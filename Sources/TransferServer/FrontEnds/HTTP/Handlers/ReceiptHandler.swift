import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts

/// `/.transfer/receipt/ID`, with the client's id of an upload.
struct ReceiptHandler: HTTPHandler {
    let context: HTTPContext

    func give(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        let text = target.path.utf8.dropFirst("\(RelativePath.reservedName)/receipt/".utf8.count)
        guard let id = UploadID(hexadecimal: Substring(text)),
            let receipt = context.uploads.intake.receipt(of: context.caller.inner(id))
        else { throw HTTPRefusal(404, .notFound, "There is no receipt of such an upload.") }
        return .reply(
            HTTPReply(
                200, [("Cache-Control", "private, no-store")], receipt.jsonBytes + [UInt8(ascii: "\n")],
                type: "application/json"))
    }
}

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
        return [("Transfer-Receipt", ":\(Base64Text.encode(line)):"), applied]
    }

    /// Says that the client has what it wanted.
    static var applied: (String, String) { ("Preference-Applied", preference) }

    /// For the object of one of several files: the line of a receipts file, as a text.
    static func member(_ receipt: SignedReceipt?) -> JSONValue {
        receipt.map { .string(String(decoding: $0.jsonBytes, as: UTF8.self)) } ?? .null
    }
}
