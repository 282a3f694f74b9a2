/// Maximum of every length and count that a peer can state, checked before anything is allocated for it.
package enum Limits {
    /// Bytes in a block, the unit of the tree digest: 4 MiB, large enough that its digest (16 bytes) costs almost
    /// nothing, small enough that resending a bad block is cheap on a slow link.
    package static let blockSize = standardBlockSize

    #if TRANSFER_SMALL_BLOCKS
        /// A smaller block for simulations, in which uploads of several blocks then cost as little as other uploads.
        private static let standardBlockSize = 4 << 10
    #else
        private static let standardBlockSize = 4 << 20
    #endif

    /// Bytes in the smallest piece of a block that is sent by itself: 64 KiB, about one second on the slowest line that
    /// pieces are meant for (Reno over 300 ms with 1 % of loss carries some 60 KB/s, RFC 3649, section 3).
    package static let pieceSize = blockSize / 64

    /// Bytes of a path: Linux's PATH_MAX (linux/limits.h) without the terminating NUL.
    package static let path = 4095

    /// Bytes of one path component: NAME_MAX (linux/limits.h).
    package static let pathComponent = 255

    /// Most components of a path. Deeper trees exist only by mistake or malice.
    package static let pathDepth = 128

    /// Most uploads under one signature, many times the number that one connection can have unacknowledged. It limits
    /// the inclusion path to 16 hashes.
    package static let receiptBatch = 65_536

    /// Most bytes of the sender's name in a receipt: the longest address of a socket (unix(7)) and room for names.
    package static let sender = 255

    /// Largest upload, in bytes: what a signed 64-bit file offset (off_t) can address.
    package static let uploadSize = UInt64(Int64.max)
}

/// Default port of servers and clients.
package enum ServerPort {
    /// The port on which a server listens, and which addresses and links mean, if they name no port.
    package static let usual: UInt16 = 5288
}
