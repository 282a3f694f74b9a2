import Testing
import TransferAccess
import TransferHTTP
import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Receipts of files stored over HTTP.
    @Suite(.overEachStore) struct HTTPReceiptTests {
        private static let content = Array("what a receipt is of\n".utf8)

        private let directory: TemporaryDirectory
        private let lists: any AccessLists

        init() throws {
            directory = try TemporaryDirectory()
            lists = try StoreKind.current.access(in: directory)
        }

        private func serving(
            isSecured: Bool = false, _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            let change = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.http = .on
                guard isSecured else { return }
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
            }
            try await TransferServerTests.serving(change, in: directory, body)
        }

        private static func receipt(_ answer: HTTPClient.Answer) throws -> SignedReceipt {
            let fields = answer.head.fields.values("transfer-receipt")
            guard case .bytes(let line)? = StructuredField.item(fields)?.value else {
                throw RawClient.Failure(description: "no receipt")
            }
            return try SignedReceipt(json: line)
        }

        private static func id(_ answer: HTTPClient.Answer) throws -> String {
            let key = "\"uploadID\":\""
            let start = try #require(answer.text.firstRange(ofText: key))
            return String(answer.text[start...].prefix(32))
        }

        @Test func whoAsksForAReceiptHasItInTheAnswer() async throws {
            try await serving { server in
                let client = try HTTPClient(server)
                let plain = try client.ask(.put, "/a", [], Self.content)
                #expect(plain.status == 201 && plain["transfer-receipt"] == nil)
                let answer = try client.ask(.put, "/b", [("Prefer", "Transfer-Receipt")], Self.content)
                #expect(answer.status == 201 && answer["preference-applied"] == "transfer-receipt")
                let receipt = try Self.receipt(answer)
                #expect(receipt.receipt.path.string == "b" && receipt.receipt.size == UInt64(Self.content.count))
                let id = try Self.id(answer)
                #expect(receipt.receipt.result == .committed && receipt.receipt.uploadID.description == id)
                try ReceiptVerifier().verify(receipt)
                // A later request gets the same receipt.
                let again = try client.ask(.get, "/.transfer/receipt/\(id)")
                #expect(again.status == 200 && again.content == receipt.jsonBytes + [10])
                // A file without a receipt gets one when a client asks for it.
                let later = try client.ask(.get, "/.transfer/receipt/\(try Self.id(plain))")
                let given = try SignedReceipt(json: Array(later.content.dropLast()))
                #expect(later.status == 200 && given.receipt.path.string == "a" && given.receipt.result == .committed)
                try ReceiptVerifier().verify(given)
            }
        }

        /// Each stored file of a form has a receipt in its object.
        @Test func filesOfAFormHaveReceipts() async throws {
            try await serving { server in
                let client = try HTTPClient(server)
                let type = ("Content-Type", "multipart/form-data; boundary=b")
                let form = ["a", "../x", "b"].map {
                    "--b\r\nContent-Disposition: form-data; name=f; filename=\"\($0)\"\r\n\r\n\($0)\r\n"
                }
                let content = Array((form.joined() + "--b--\r\n").utf8)
                #expect(try !client.ask(.post, "/", [type], content).text.contains("\"receipt\""))
                let answer = try client.ask(.post, "/in/", [type, ("Prefer", "transfer-receipt")], content)
                #expect(answer.status == 207 && answer["preference-applied"] == "transfer-receipt")
                guard case .array(let files) = try JSONReader.read(answer.content) else {
                    throw RawClient.Failure(description: "no array")
                }
                let lines = files.map { if case .string(let line)? = $0["receipt"] { line } else { nil as String? } }
                #expect(files.count == 3 && lines[1] == nil)
                for (index, path) in [(0, "in/a"), (2, "in/b")] {
                    let receipt = try SignedReceipt(json: Array(try #require(lines[index]).utf8))
                    try ReceiptVerifier().verify(receipt)
                    #expect(receipt.receipt.path.string == path && receipt.receipt.size == 1)
                    let again = try client.ask(.get, "/.transfer/receipt/\(receipt.receipt.uploadID)")
                    #expect(again.content == receipt.jsonBytes + [10])
                }
                // Requests that do not ask for a receipt on the same connection get none.
                #expect(try client.ask(.put, "/c", [], [1])["transfer-receipt"] == nil)
            }
        }

        @Test func thereIsNoneOfWhatIsNotThere() async throws {
            try await serving { server in
                let client = try HTTPClient(server)
                let id = try Self.id(client.ask(.put, "/a", [], Self.content))
                for other in ["", "x", String(repeating: "0", count: 32), id.dropLast() + "g", id + "0"] {
                    let answer = try client.ask(.get, "/.transfer/receipt/\(other)")
                    #expect(answer.status == 404, "\(other): \(answer.text)")
                }
                #expect(try client.ask(.put, "/.transfer/receipt/\(id)", [], [1]).status == 405)
                #expect(try client.ask(.head, "/.transfer/receipt/\(id)").status == 200)
                #expect(try client.ask(.put, "/a", [], [1]).status == 200)
                #expect(try client.ask(.get, "/.transfer/receipt/\(id)").status == 404)
            }
        }

        @Test func onlyWhoSentItOrMaySeeItHasIt() async throws {
            var options = AccessOptions()
            options.rights = .writeOnly
            let tokens = [
                try lists.issue(.token, name: "one", options: options, at: .now),
                try lists.issue(.token, name: "two", options: options, at: .now),
            ].map { [("Authorization", "Bearer \($0.text)")] }
            try await serving(isSecured: true) { server in
                let client = try HTTPClient(server, isSecured: true)
                let id = try Self.id(client.ask(.put, "/a", tokens[0], Self.content))
                #expect(try client.ask(.get, "/.transfer/receipt/\(id)", tokens[0]).status == 200)
                #expect(try client.ask(.get, "/.transfer/receipt/\(id)", tokens[1]).status == 404)
                #expect(try client.ask(.get, "/.transfer/receipt/\(id)").status == 401)
            }
        }
    }
}

extension String {
    /// - Returns: index after the first occurrence of the text.
    fileprivate func firstRange(ofText text: String) -> Index? {
        let (all, wanted) = (Array(utf8), Array(text.utf8))
        guard all.count >= wanted.count else { return nil }
        for start in 0...(all.count - wanted.count) where all[start..<start + wanted.count].elementsEqual(wanted) {
            return utf8.index(startIndex, offsetBy: start + wanted.count)
        }
        return nil
    }
}
