import TransferCodec
import TransferKeys
import TransferModel
import TransferReceipts
import TransferTestSupport

/// Files that alice has sent to bob, and a file with the receipts that bob has signed for them.
struct Delivered {
    static let names = ["a", "in/photo.png", "odd \"name\"\n"]

    let home: TemporaryDirectory

    /// The key with which bob signs receipts.
    let key: KeyPair

    /// Path of the file with the receipts.
    let receipts: String

    init(key: KeyPair = KeyPair(), to: String = "bob", server: ServerKey = KeyPair().key) throws {
        self.key = key
        home = try TemporaryDirectory()
        receipts = home.path("sent.jsonl")
        try makeDirectory(home.path("in"))
        var made: [DeliveryReceipt] = []
        for (number, name) in Self.names.enumerated() {
            let content = randomBytes(100, seed: UInt64(number))
            try writeFile(home.path(name), content)
            let digester = ContentDigester(.xxh128)
            content.withUnsafeBytes { digester.update($0) { _, _ in } }
            made.append(
                try DeliveryReceipt(
                    delivery: .random(), to: to, from: "alice", name: RelativePath(name), kind: .file, size: 100,
                    digest: digester.finish().digest, time: ReceiptTime(clamping: 1_767_225_600_500),
                    recipient: key.key, server: server))
        }
        let lines = DeliveryBatch.lines(made, signature: DeliveryBatch.sign(made, with: key)) ?? []
        try writeFile(receipts, lines.flatMap { $0 + [UInt8(ascii: "\n")] })
    }

    var lines: [Substring] {
        get throws { try String(decoding: readFile(receipts), as: UTF8.self).split(separator: "\n") }
    }

    func verify(_ flags: [String]) throws -> Finished { try Finished(["receipt", "verify", receipts] + flags) }
}
