internal import COpenSSL
import TransferKeys

/// The stored hash of a secret: scrypt (RFC 7914) in the PHC string format, `$scrypt$ln=15,r=8,p=1$SALT$HASH`. It
/// contains the parameters, so that later versions can increase them.
package struct SecretHash: Equatable, Sendable {
    /// The binary logarithm of N, the cost in time and memory.
    private let logN: UInt64
    /// The block size r. Hashing needs 128 × N × r bytes of memory.
    private let blockSize: UInt64
    private let parallelism: UInt64
    private let salt: [UInt8]
    private let hash: [UInt8]

    /// N = 2^15 and r = 8: 32 MiB and 72 ms in the measurement (best of 5, OpenSSL 3.0, one core). OWASP's Password
    /// Storage Cheat Sheet combines them with p = 3 for passwords that people choose. A secret of 160 random bits
    /// cannot be guessed at any cost; hashing only protects secrets from a bad random generator.
    private static let defaultLogN: UInt64 = 15
    private static let defaultBlockSize: UInt64 = 8

    /// Most bytes of memory that a hash from a file may need: eight times the default.
    private static let mostMemory: UInt64 = 256 << 20
    private static let mostParallelism: UInt64 = 16

    private static let saltSize = 16
    private static let hashSize = 32

    /// Hashes a new secret, in some 70 ms.
    package init(of secret: AccessSecret) {
        guard let hash = Self(hashing: secret) else {
            // Trap: only the operator's commands call this. A server uses the other initialiser.
            preconditionFailure("OpenSSL has no scrypt")
        }
        self = hash
    }

    /// Hashes a new secret in a server, which must not trap.
    ///
    /// - Returns: nil if there is not enough memory.
    init?(hashing secret: AccessSecret) {
        (logN, blockSize, parallelism) = (Self.defaultLogN, Self.defaultBlockSize, 1)
        salt = randomBytes(Self.saltSize)
        guard let hash = Self.scrypt(secret.secret, salt, logN, blockSize, parallelism) else { return nil }
        self.hash = hash
    }

    /// Whether this is the hash of the secret. This takes as long as hashing a secret. The comparison takes the same
    /// time for every result.
    package func matches(_ secret: AccessSecret) -> Bool {
        guard let hash = Self.scrypt(secret.secret, salt, logN, blockSize, parallelism) else { return false }
        return isEqualInConstantTime(hash, self.hash)
    }

    /// - Returns: nil if there is not enough memory.
    private static func scrypt(_ secret: String, _ salt: [UInt8], _ logN: UInt64, _ r: UInt64, _ p: UInt64) -> [UInt8]?
    {
        let secret = Array(secret.utf8).map { CChar(bitPattern: $0) }
        var isDone = false
        let hash = [UInt8](unsafeUninitializedCapacity: hashSize) { buffer, count in
            // The limit is twice the permitted memory, because OpenSSL counts smaller buffers as well.
            let status = EVP_PBE_scrypt(
                secret, secret.count, salt, salt.count, 1 << logN, r, p, 2 * mostMemory, buffer.baseAddress, hashSize)
            isDone = status == 1
            count = isDone ? hashSize : 0
        }
        return isDone ? hash : nil
    }
}

extension SecretHash: CustomStringConvertible {
    package var description: String {
        "$scrypt$ln=\(logN),r=\(blockSize),p=\(parallelism)$\(Self.unpadded(salt))$\(Self.unpadded(hash))"
    }

    /// Reads the text of `description`; nil for any other text, and for excessive parameters.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false).map {
            Substring($0)
        }
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt",
            let numbers = Self.numbers(parts[2]), let salt = Base64.decode(parts[3]),
            let hash = Base64.decode(parts[4]),
            salt.count == Self.saltSize, hash.count == Self.hashSize
        else { return nil }
        (logN, blockSize, parallelism) = (numbers[0], numbers[1], numbers[2])
        (self.salt, self.hash) = (salt, hash)
        guard (1...20).contains(logN), (1...32).contains(blockSize), (1...Self.mostParallelism).contains(parallelism),
            128 * blockSize << logN <= Self.mostMemory, description == text
        else { return nil }
    }

    private static func numbers(_ text: Substring) -> [UInt64]? {
        let parts = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        let numbers = zip(parts, ["ln=", "r=", "p="]).compactMap { part, prefix in
            Substring(part).hasPrefix(prefix) ? UInt64(Substring(part.dropFirst(prefix.utf8.count))) : nil
        }
        return parts.count == 3 && numbers.count == 3 ? numbers : nil
    }

    private static func unpadded(_ bytes: [UInt8]) -> String {
        String(Substring(Base64.encode(bytes).utf8.prefix { $0 != UInt8(ascii: "=") }))
    }
}

/// Compares in a time that does not depend on the contents (CRYPTO_memcmp(3)).
func isEqualInConstantTime(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
}
