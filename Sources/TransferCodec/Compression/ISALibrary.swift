internal import CISAL
package import TransferSystem

/// The functions of ISA-L, the Intelligent Storage Acceleration Library, in a shared library opened at run time.
package struct ISALibrary: Sendable {
    /// The file that is looked for.
    package static let fileName = "libisal.so.2"

    let functions: cisal_library

    /// The one that is installed, opened and tried when compression is first used.
    static let opening = Result { () throws(LibraryRefusal) in try ISALibrary(path: fileName) }

    /// nil if there is none to be used.
    static var installed: ISALibrary? { try? opening.get() }

    /// Opens the library at `path`, looked for as dlopen(3) does.
    package init(path: String) throws(LibraryRefusal) {
        var functions = cisal_library()
        guard cisal_open(path, &functions) else { throw .absent }
        try self.init(functions)
    }

    /// Takes functions that do what zlib does. It has no number of its version, so what it does has to tell.
    init(_ functions: cisal_library) throws(LibraryRefusal) {
        self.functions = functions
        try ISALTrial(self).run()
    }
}
