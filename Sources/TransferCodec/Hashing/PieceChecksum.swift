internal import COpenSSL

/// SHA-1 (FIPS 180-4) for servers that compare nothing better. It finds accidents and no attacker, so nothing else may rest
/// on it.
package enum PieceChecksum {
    private static let size = 20

    /// - Returns: nothing where OpenSSL is configured to have no SHA-1.
    package static func sha1(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var status: Int32 = 0
        let digest = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            status = EVP_Digest(bytes.baseAddress, bytes.count, buffer.baseAddress, nil, EVP_sha1(), nil)
            count = status == 1 ? size : 0
        }
        return status == 1 ? digest : nil
    }
}
