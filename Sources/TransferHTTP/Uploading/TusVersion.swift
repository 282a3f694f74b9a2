/// Versions of tus (tus 1.0.0, Tus-Resumable).
package enum TusVersion {
    /// The only one that is spoken; also the value of `Tus-Version`.
    package static let supported = "1.0.0"

    /// Every request but OPTIONS says its version.
    ///
    /// - Throws: 412, with which `Tus-Version` is to be sent, when it is another one, or missing.
    package static func check(_ fields: HTTPFields) throws(HTTPFault) {
        guard let version = try fields.only("tus-resumable"), version.utf8.elementsEqual(supported.utf8) else {
            throw HTTPFault(412, "Tus-Resumable is not \(supported).")
        }
    }
}
