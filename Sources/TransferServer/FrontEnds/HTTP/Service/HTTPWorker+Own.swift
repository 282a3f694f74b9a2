import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts

/// What is asked for below the server's own name, which no file can have.
extension HTTPWorker {
    private static let events = Array("\(RelativePath.reservedName)/events".utf8)

    private static let receipts = Array("\(RelativePath.reservedName)/receipt".utf8)

    /// - Returns: whether the request was about something of these, and has its answer.
    func answerOwn(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> Bool {
        let isEvents = target.path.utf8.elementsEqual(Self.events) && !target.isFolder
        let isReceipt = target.path.utf8.starts(with: Self.receipts)
        guard isEvents || isReceipt else { return false }
        guard [.get, .head].contains(request.head.method) else {
            throw HTTPRefusal(405, .wrongForm, "This is only asked for.", [("Allow", "GET, HEAD")])
        }
        if isEvents {
            tellEvents(request, target)
            return true
        }
        let text = target.path.utf8.dropFirst(Self.receipts.count + 1)
        try giveReceipt(request, of: UploadID(hexadecimal: text))
        return true
    }

    private func tellEvents(_ request: HTTPRequest, _ target: HTTPTarget) {
        let last = request.head.fields.values("last-event-id").last.flatMap { EventID($0) }
        let answer = HTTPEvents(
            target.path, service, uploads, last: last, isChunked: request.head.version != .http10)
        guard request.head.method == .get else { return sayHead(request, of: answer) }
        begin(answer, to: request)
    }

    /// - Parameter id: the client's; nothing for what is none.
    private func giveReceipt(_ request: HTTPRequest, of id: UploadID?) throws(HTTPRefusal) {
        guard let id, let receipt = uploads.intake.receipt(of: client.inner(id)) else {
            throw HTTPRefusal(404, .notFound, "There is no receipt of such an upload.")
        }
        reply(
            request,
            HTTPReply(
                200, [("Cache-Control", "private, no-store")], receipt.jsonBytes + [UInt8(ascii: "\n")],
                type: "application/json"))
    }
}

extension UploadID {
    /// - Returns: nothing for what `description` does not give.
    fileprivate init?(hexadecimal text: some Collection<UInt8>) {
        let digits = text.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == 32, text.allSatisfy({ $0 < 0x80 }), digits.allSatisfy({ $0 != nil }) else { return nil }
        let values = digits.compactMap(\.self).map { UInt64($0) }
        self.init(
            high: values[..<16].reduce(0) { $0 << 4 | $1 }, low: values[16...].reduce(0) { $0 << 4 | $1 })
    }
}
