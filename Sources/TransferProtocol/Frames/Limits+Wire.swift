import TransferModel

extension Limits {
    /// Bytes of a `data` body, both on the wire and decompressed: 1 MiB. Larger frames were no faster in measurements,
    /// and the limit bounds what one frame can make the receiver hold.
    package static let dataBody = 1 << 20

    /// Bytes of a `data` body compressed with zstd: 256 KiB. The receiver keeps the body until it is complete, so this
    /// bounds the memory for one connection. Any 256 KiB of content fit into it, if they shrink at all.
    package static let zstdBody = 256 << 10

    /// Bytes of any other body: 16 KiB, enough for the longest path, a digest, a message and future fields.
    package static let controlBody = 16 << 10

    /// Bytes of a sentence for users or of a program's name.
    package static let text = 1024

    /// Uploads of one client that have no result yet. More are not needed to fill a link: 4,096 files of 4 KiB are 16
    /// MiB in flight.
    package static let unacknowledgedUploads = 4096

    /// IDs in one `lookup` or `unknown`, which take 4 KiB. More IDs would save little and delay the answer.
    package static let lookup = 256

    /// Requests of one connection that have no answer yet: enough for files of 4 KiB to fill a link.
    package static let requests = 1024

    /// Bytes of all these requests together, as `Request.cost` counts them: 1,024 requests may have paths of 96 bytes.
    /// This bounds the memory in which a server holds one connection's requests.
    package static let requestBytes = 128 << 10
}
