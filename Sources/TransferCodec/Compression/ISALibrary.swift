internal import CISAL
package import TransferSystem

/// The functions of ISA-L, the Intelligent Storage Acceleration Library, in a shared library opened at run time.
package struct ISALibrary: Sendable {
    /// File name of the library.
    package static let fileName = "libisal.so.2"

    let functions: cisal_library

    /// The installed library, opened and tested when compression is first used.
    static let opening = Result { () throws(LibraryRefusal) in try ISALibrary(path: fileName) }

    /// The installed library; nil if none is usable.
    static var installed: ISALibrary? { try? opening.get() }

    /// Opens the library at `path`, found as dlopen(3) does.
    package init(path: String) throws(LibraryRefusal) {
        var functions = cisal_library()
        guard cisal_open(path, &functions) else { throw .absent }
        try self.init(functions)
    }

    /// Accepts the functions only if they behave as zlib's do, because the library has no version number.
    init(_ functions: cisal_library) throws(LibraryRefusal) {
        self.functions = functions
        try ISALTrial(self).run()
    }
}
