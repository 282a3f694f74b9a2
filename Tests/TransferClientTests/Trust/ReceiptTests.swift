import Testing
import TransferClient
import TransferCodec
import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferTestSupport

/// A client checks the receipts that it asked for.
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

    /// Receipts inside a result, each with words of the client's message.
    static let bad: [(String, @Sendable (Offer) -> [UInt8])] = [
        ("not a receipt", { _ in [] }),
        ("not a receipt", { $0.signed().encoded.dropLast() }),
        ("another server", { $0.signed(by: ServerIdentity()).encoded }),
        ("another upload ID", { $0.signed { $0.id = .random() }.encoded }),
        ("another path", { $0.signed { $0.path = "other" }.encoded }),
        ("2 bytes", { $0.signed { $0.size = 2 }.encoded }),
        ("other content", { $0.signed { $0.digest = Digest(.xxh128, [UInt8](repeating: 0, count: 16)) }.encoded }),
        (
            "changed after it was signed",
            { offer in
                var bytes = offer.signed().encoded
                bytes[1] ^= 1
                return bytes
            }
        ),
    ]

    @Test(arguments: bad.indices) func aBadOneIsToldInPlainWords(_ number: Int) async throws {
        let (words, make) = Self.bad[number]
        try await expectBad(words) { peer, offer in peer.send(.result(offer.result(make(offer)))) }
    }

    /// Receipts in a frame behind a result, each with words of the client's message.
    static let badFrames: [(String, @Sendable (Offer) -> SignedBatch)] = [
        ("not signed", { $0.frame(by: ServerIdentity()) }),
        ("not signed", { $0.frame { $0.id = .random() } }),
        ("not signed", { $0.frame { $0.path = "other" } }),
        ("not signed", { $0.frame { $0.size = 2 } }),
        ("not signed", { $0.frame { $0.digest = Digest(.xxh128, [UInt8](repeating: 0, count: 16)) } }),
        ("not signed", { $0.changed { $0.signature[9] ^= 1 } }),
        ("not signed", { $0.changed { $0.number += 1 } }),
        ("not signed", { $0.changed { $0.sender = "somebody else" } }),
        ("not a receipt", { $0.changed { $0.time = .max } }),
        ("a version that", { $0.changed { $0.version = 2 } }),
    ]

    @Test(arguments: badFrames.indices) func aBadFrameIsToldInPlainWords(_ number: Int) async throws {
        let (words, make) = Self.badFrames[number]
        try await expectBad(words) { peer, offer in peer.send(.result(offer.result(nil)), .receipts(make(offer))) }
    }

    /// The server acknowledges the sent content and signs a receipt for other content.
    @Test func aDigestThatWasNotSentIsNoticed() async throws {
        try await expectBad("other content") { peer, offer in
            var other = offer
            other.digest = Digest(.xxh128, [UInt8](repeating: 1, count: 16))
            peer.send(.result(offer.result(other.signed().encoded)))
        }
    }

    /// Pushes to a server that acknowledges and gives a bad receipt.
    private func expectBad(
        _ words: String, _ answer: @escaping @Sendable (FakeServer.Peer, Offer) -> Void
    ) async throws {
        let identity = ServerIdentity()
        let fake = FakeServer { peer in
            guard let offer = peer.offer(identity) else { return }
            answer(peer, offer)
            peer.drain()
        }
        let outcome = try await fake.address.outcome([.text("x", name: "x")]) { $0.wantsReceipts = true }
        #expect(outcome.failure == nil)
        let report = try #require(outcome.reports.first)
        #expect(report.result == .badReceipt && report.receipt == nil)
        #expect(report.storedPath == "x" && report.isDurable)
        #expect(report.message.hasPrefix("Stored, but") && report.message.contains(words), "\(report.message)")
    }

    /// It is a protocol fault if a frame has no receipts, or more than there are acknowledgements without one.
    @Test(arguments: [0, 2, 5000]) func aWrongNumberIsAFault(_ count: Int) async throws {
        let identity = ServerIdentity()
        let fake = FakeServer { peer in
            guard let offer = peer.offer(identity) else { return }
            peer.send(.result(offer.result(nil)), .receipts(offer.changed { $0.count = count }))
            peer.drain()
        }
        let outcome = try await fake.address.outcome([.text("x", name: "x")]) { $0.wantsReceipts = true }
        #expect(outcome.failure?.reason == .protocolFault)
        #expect(outcome.failure?.message.contains("receipts") ?? false)
        #expect(outcome.codes == [.connectionLost])
    }

    /// If the connection is lost between a result and its receipt, the acknowledgement is lost: the client asks again.
    @Test func aLostReceiptIsGivenAgain() async throws {
        let identity = ServerIdentity()
        let fake = FakeServer(
            { peer in
                guard let offer = peer.offer(identity) else { return }
                peer.send(.result(offer.result(nil)))
            },
            { peer in
                guard let offer = peer.offer(identity) else { return }
                peer.send(.result(offer.result(offer.signed().encoded)))
                peer.drain()
            })
        let outcome = try await fake.address.outcome([.text("x", name: "x")]) { $0.wantsReceipts = true }
        #expect(outcome.failure == nil && outcome.codes == [.committed])
        #expect(outcome.reports.first?.receipt != nil)
        #expect(fake.connections == 2 && fake.begun == ["x", "x"])
    }

    /// Each upload's report waits for its own receipt, in whichever order receipts arrive.
    @Test func receiptsBelongToTheFirstResults() async throws {
        let identity = ServerIdentity()
        let fake = FakeServer { peer in
            guard let first = peer.offer(identity), let second = peer.nextOffer(identity) else { return }
            peer.send(.result(second.result(nil)), .result(first.result(nil)))
            peer.send(.receipts(second.frame()))
            peer.send(.receipts(first.frame()))
            peer.drain()
        }
        let outcome = try await fake.address.outcome([.text("1", name: "1"), .text("2", name: "2")]) {
            $0.wantsReceipts = true
            $0.lanes = .fixed(1)
        }
        #expect(outcome.failure == nil && outcome.codes == [.committed, .committed])
        #expect(outcome.reports.map(\.source) == ["2", "1"])
        for report in outcome.reports {
            #expect(report.receipt?.receipt.uploadID == report.uploadID)
        }
    }

    /// The contents of a receipt.
    struct Offer: Sendable {
        let identity: ServerIdentity
        var id: UploadID
        var path: String
        var size: UInt64
        var digest: Digest

        func signed(by signer: ServerIdentity? = nil, _ change: (inout Offer) -> Void = { _ in }) -> SignedReceipt {
            batch(by: signer, change).signed(0)
        }

        func frame(by signer: ServerIdentity? = nil, _ change: (inout Offer) -> Void = { _ in }) -> SignedBatch {
            batch(by: signer, change).signedBatch
        }

        /// The frame with changes that the signature does not cover.
        func changed(_ change: (inout SignedBatch) -> Void) -> SignedBatch {
            var frame = frame()
            change(&frame)
            return frame
        }

        func result(_ receipt: [UInt8]?) -> UploadResult {
            UploadResult(
                id: id, code: .committed, isDurable: true, size: size, digest: digest, receipt: receipt)
        }

        private func batch(by signer: ServerIdentity?, _ change: (inout Offer) -> Void) -> ReceiptBatch {
            var offer = self
            change(&offer)
            guard let path = try? RelativePath(offer.path) else { preconditionFailure("not a path") }
            let issuer = ReceiptIssuer(signer ?? identity, numbers: ReceiptNumbers())
            let upload = ReceiptIssuer.Acknowledged(
                uploadID: offer.id, path: path, kind: .text, size: offer.size, digest: offer.digest, result: .committed)
            return issuer.issue([upload], sender: "test")
        }
    }
}

extension FakeServer.Peer {
    /// Welcomes a client that wants receipts, and receives its first upload.
    fileprivate func offer(_ identity: ServerIdentity) -> ReceiptTests.Offer? {
        welcome(Welcome(serverKey: identity.key.raw.bytes))
        return nextOffer(identity)
    }

    /// Receives the next upload of the client.
    fileprivate func nextOffer(_ identity: ServerIdentity) -> ReceiptTests.Offer? {
        guard let begin = nextBegin(), let end = nextEnd() else { return nil }
        return ReceiptTests.Offer(
            identity: identity, id: begin.id, path: begin.path, size: end.size, digest: end.digest)
    }
}
