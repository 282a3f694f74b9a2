internal import COpenSSL
internal import CXXHash
internal import TransferModel

/// The C library's state of one streaming hash. Its owner must call `free`.
enum HashState {
    case xxh128(OpaquePointer)
    case sha256(OpaquePointer)

    init(_ function: DigestFunction) {
        switch function {
        case .xxh128:
            // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
            guard let state = XXHash.functions.create() else { preconditionFailure("out of memory") }
            self = .xxh128(state)
        case .sha256:
            // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
            guard let context = EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
            self = .sha256(context)
        }
        reset()
    }

    func free() {
        switch self {
        case .xxh128(let state): _ = XXHash.functions.destroy(state)
        case .sha256(let context): EVP_MD_CTX_free(context)
        }
    }

    func reset() {
        switch self {
        case .xxh128(let state):
            _ = XXHash.functions.reset(state)
        case .sha256(let context):
            let status = EVP_DigestInit_ex2(context, SHA256Method.shared, nil)
            // Trap: OpenSSL is linked in with its SHA-256, and a context that exists has no other reason to fail; every
            // input is valid.
            precondition(status == 1, "EVP_DigestInit_ex2 failed")
        }
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .xxh128(let state):
            _ = XXHash.functions.update(state, bytes.baseAddress, bytes.count)
        case .sha256(let context):
            let status = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
            // Trap: OpenSSL is linked in with its SHA-256, and a context that exists has no other reason to fail; every
            // input is valid.
            precondition(status == 1, "EVP_DigestUpdate failed")
        }
    }

    func digest() -> [UInt8] {
        switch self {
        case .xxh128(let state):
            XXHash.functions.digest(state).canonicalBytes
        case .sha256(let context):
            [UInt8](unsafeUninitializedCapacity: DigestFunction.sha256.size) { buffer, count in
                let status = EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
                // Trap: OpenSSL is linked in with its SHA-256, and a context that exists has no other reason to fail;
                // every input is valid.
                precondition(status == 1, "EVP_DigestFinal_ex failed")
                count = DigestFunction.sha256.size
            }
        }
    }

    /// The digest of the bytes so far; more may follow.
    func current() -> [UInt8] {
        guard case .sha256(let context) = self else { return digest() }
        // The last step of SHA-256 ends the state, so it is made with a copy.
        let copy = Self(.sha256)
        defer { copy.free() }
        copy.become(context)
        return copy.digest()
    }

    private func become(_ other: OpaquePointer) {
        guard case .sha256(let context) = self else { return }
        let status = EVP_MD_CTX_copy_ex(context, other)
        // Trap: both contexts exist and are of OpenSSL's own SHA-256, so the copy has no reason to fail.
        precondition(status == 1, "EVP_MD_CTX_copy_ex failed")
    }
}
