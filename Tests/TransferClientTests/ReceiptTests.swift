import Testing
import TransferClient
import TransferCodec
import TransferKeys
import TransferProtocol
import TransferReceipts
import TransferTestSupport

/// What a client does with the receipts that it asked for.
@Suite struct ReceiptTests {
    @Test func everyReportHasItsReceipt() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            let long = [UInt8](repeating: 7, count: 40_000_000)
            for number in 0..<100 { try Files.write(source.path("tree/\(number)"), [UInt8(number)]) }
            try Files.write(source.path("tree/long"), long)
            let outcome = try await server.address("in").outcome([
                .path(source.path("tree")), .text("A text", name: "text.txt"),
                .stream(PieceSource([[1, 2, 3]]), name: "stream"),
            ]) { $0.wantsReceipts = true }
            #expect(outcome.failure == nil)
            #expect(outcome.reports.count == 103)
            let verifier = ReceiptVerifier()
            for report in outcome.reports {
                #expect(report.result == .committed, "\(report)")
                let signed = try #require(report.receipt)
                try verifier.verify(signed)
                #expect(try SignedReceipt(json: Array(signed.json.utf8)) == signed)
                #expect(signed.receipt.path.string == report.storedPath && signed.receipt.uploadID == report.uploadID)
                #expect(signed.receipt.digest == report.digest && signed.receipt.size == report.size)
            }
            let numbers = Set(outcome.reports.compactMap { $0.receipt?.receipt.number })
            #expect(numbers.count == 103)
        }
    }

    @Test func whatIsThereAlreadyHasOneToo() async throws {
        try await withServer { server in
            for code in [ResultCode.committed, .alreadyStored] {
                let outcome = try await server.address.outcome([.text("x", name: "x")]) { $0.wantsReceipts = true }
                #expect(outcome.codes == [code])
                #expect(outcome.reports.first?.receipt?.receipt.result == code)
            }
        }
    }

    @Test func whoDoesNotAskHasNone() async throws {
        try await withServer { server in
            let outcome = try await server.address.outcome([.text("x", name: "x")])
            #expect(outcome.codes == [.committed] && outcome.reports.first?.receipt == nil)
        }
    }

    @Test func aServerThatGivesNoneGetsNothing() async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            peer.drain()
        }
        let outcome = try await fake.address.outcome([.text("x", name: "x"), .text("y", name: "y")]) {
            $0.wantsReceipts = true
        }
        #expect(outcome.failure?.reason == .unsupported)
        #expect(outcome.failure?.message.contains("no receipts") ?? false)
        #expect(outcome.codes == [.cancelled, .cancelled])
        #expect(fake.begun.isEmpty && fake.connections == 1)
    }

    /// A receipt, and what the client has to say of it.
    static let bad: [(String, @Sendable (Offer) -> [UInt8]?)] = [
        ("sent none", { _ in nil }),
        ("not a receipt", { _ in [] }),
        ("not a receipt", { $0.signed().encoded.dropLast() }),
        ("another server", { $0.signed(by: ServerIdentity()).encoded }),
        ("another upload id", { $0.signed { $0.id = .random() }.encoded }),
        ("another path", { $0.signed { $0.path = "other" }.encoded }),
        ("2 bytes", { $0.signed { $0.size = 2 }.encoded }),
        ("other content", { $0.signed { $0.digest = Digest(.xxh128, [UInt8](repeating: 0, count: 16)) }.encoded }),
        (
            "changed since",
            { offer in
                var bytes = offer.signed().encoded
                bytes[1] ^= 1
                return bytes
            }
        ),
    ]

    @Test(arguments: bad.indices) func aBadOneIsToldInPlainWords(_ number: Int) async throws {
        let (words, make) = Self.bad[number]
        let identity = ServerIdentity()
        let fake = FakeServer { peer in
            peer.welcome(Welcome(serverKey: identity.key.raw.bytes))
            guard let begin = peer.nextBegin(), let end = peer.nextEnd() else { return }
            let offer = Offer(identity: identity, id: begin.id, path: begin.path, size: end.size, digest: end.digest)
            peer.send(
                .result(
                    UploadResult(
                        id: begin.id, code: .committed, isDurable: true, size: end.size, digest: end.digest,
                        receipt: make(offer))))
            peer.drain()
        }
        let outcome = try await fake.address.outcome([.text("x", name: "x")]) { $0.wantsReceipts = true }
        #expect(outcome.failure == nil)
        let report = try #require(outcome.reports.first)
        #expect(report.result == .badReceipt && report.receipt == nil)
        #expect(report.storedPath == "x" && report.isDurable)
        #expect(report.message.hasPrefix("Stored, but") && report.message.contains(words), "\(report.message)")
    }

    /// The server says that what was sent is stored, and signs that something else is.
    @Test func aDigestThatWasNotSentIsNoticed() async throws {
        let identity = ServerIdentity()
        let other = Digest(.xxh128, [UInt8](repeating: 1, count: 16))
        let fake = FakeServer { peer in
            peer.welcome(Welcome(serverKey: identity.key.raw.bytes))
            guard let begin = peer.nextBegin(), let end = peer.nextEnd() else { return }
            let offer = Offer(identity: identity, id: begin.id, path: begin.path, size: end.size, digest: other)
            peer.send(
                .result(
                    UploadResult(
                        id: begin.id, code: .committed, isDurable: true, size: end.size, digest: end.digest,
                        receipt: offer.signed().encoded)))
            peer.drain()
        }
        let outcome = try await fake.address.outcome([.text("x", name: "x")]) { $0.wantsReceipts = true }
        #expect(outcome.codes == [.badReceipt])
    }

    /// What a receipt should say.
    struct Offer: Sendable {
        let identity: ServerIdentity
        var id: UploadID
        var path: String
        var size: UInt64
        var digest: Digest

        func signed(by signer: ServerIdentity? = nil, _ change: (inout Offer) -> Void = { _ in }) -> SignedReceipt {
            var offer = self
            change(&offer)
            guard let path = try? RelativePath(offer.path) else { preconditionFailure("not a path") }
            let issuer = ReceiptIssuer(signer ?? identity, numbers: ReceiptNumbers())
            let upload = ReceiptIssuer.Acknowledged(
                uploadID: offer.id, path: path, kind: .text, size: offer.size, digest: offer.digest, result: .committed)
            return issuer.issue([upload], sender: "test").signed(0)
        }
    }
}
