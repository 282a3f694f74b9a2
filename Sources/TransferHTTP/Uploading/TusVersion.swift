/// Versions of tus (tus 1.0.0, Tus-Resumable).
package enum TusVersion {
    /// The only supported version, and the value of `Tus-Version`.
    package static let supported = "1.0.0"

    /// Checks the version that every request but OPTIONS must have.
    ///
    /// - Throws: 412 for a missing or other version; the answer must have `Tus-Version`.
    package static func check(_ fields: HTTPFields) throws(HTTPFault) {
        guard let version = try fields.only("tus-resumable"), version.utf8.elementsEqual(supported.utf8) else {
            throw HTTPFault(412, "Tus-Resumable is not \(supported).")
        }
    }
}
