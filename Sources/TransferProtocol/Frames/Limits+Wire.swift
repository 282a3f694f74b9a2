import TransferModel

extension Limits {
    /// Bytes of a `data` body, both on the wire and after inflating: 1 MiB. Larger frames measured no faster, and this
    /// bounds what one frame can make the receiver hold.
    package static let dataBody = 1 << 20

    /// Bytes of a `data` body that is a zstd frame: 256 KiB. A receiver keeps it until it is whole, so this is what one
    /// connection can have it keep. Content of 256 KiB fits whatever it is made of, if it shrinks at all.
    package static let zstdBody = 256 << 10

    /// Bytes of any other body: 16 KiB holds the longest path, a digest, a message and room for growth.
    package static let controlBody = 16 << 10

    /// Bytes of a human sentence or an agent's name.
    package static let text = 1024

    /// Uploads that a client may have begun and not yet seen a result for. A client needs no more to fill a link: 4,096
    /// files of 4 KiB are 16 MiB in flight.
    package static let unacknowledgedUploads = 4096

    /// Uploads that one `lookup` asks about, and that one `unknown` names: 4 KiB of ids. More would share the header among
    /// more and wait longer for the last of them.
    package static let lookup = 256

    /// Requests that may have no answer: enough files of 4 KiB to fill a link.
    package static let requests = 1024

    /// Bytes of these requests together, as `Request.cost` counts them: with the most of them each may have a path of 96
    /// bytes. Bounds what a server holds of the requests of one connection.
    package static let requestBytes = 128 << 10
}
